// SPDX-License-Identifier: Apache-2.0
// The modules of LibTorch that networks are made of. Each by its own header: <torch/nn.h> has all
// of them instantiated in every source, which takes longer than all else in it.
#pragma once

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
