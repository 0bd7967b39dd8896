// SPDX-License-Identifier: Apache-2.0
// LibTorch's tensors as what travels.
#pragma once

#include <torch/types.h>

#include "collectives/staged_exchange.hpp"
#include "kernels/error.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// The elements of a contiguous tensor of one of the types that spans have; throws Error for
/// another one. The tensor must outlive the span.
Span span_of_tensor(const torch::Tensor& tensor);

/// Collective: rank `root`'s values replace everybody's. Any number type, by way of float64, so
/// integers are exact up to 2^53; any strides.
void broadcast_tensor(StagedExchange& ranks, torch::Tensor& tensor, int root);

}  // namespace scalebench
