// SPDX-License-Identifier: Apache-2.0
// Layers of kernels/layers as LibTorch's autograd sees them: what follows a convolution or a matrix
// product, forward and backward in few passes over memory, on the CPU and on CUDA. float32 or
// bfloat16 as the input is; under autocast too, where LibTorch's own batch normalisation also keeps
// the type of its input. What comes with another order of its numbers is copied to channels last.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/types.h>

namespace scalebench {

/// relu(norm(x) + beside), or relu(norm(x)) where `beside` is not defined. x, beside: (n, channels,
/// height, width). As norm->forward() it keeps running statistics while training, and normalises by
/// them in evaluation mode. Throws Error for other types, for channels that are no multiple of 8,
/// and while training for a single number a channel.
torch::Tensor norm_relu(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                        const torch::Tensor& beside = {});

/// norm(x) alone.
torch::Tensor norm_only(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x);

/// relu(x + bias): x (n, channels, height, width) or (n, channels), bias float32 (channels).
torch::Tensor bias_relu(const torch::Tensor& x, const torch::Tensor& bias);

/// What `chain` computes, its batch normalisations together with a ReLU behind them, the last one
/// with `beside` if that is defined: then with a ReLU in any case.
torch::Tensor run_fused(torch::nn::SequentialImpl& chain, torch::Tensor x,
                        const torch::Tensor& beside = {});

}  // namespace scalebench
