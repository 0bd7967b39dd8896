// SPDX-License-Identifier: Apache-2.0
// What training makes small.
#pragma once

#include <torch/types.h>

#include "models/model_choice.hpp"

namespace scalebench {

/// outputs: (n, classes) of any floating-point type, labels: int64 (n). Returns a float32 scalar:
/// the mean over the batch, and for mse and bce_with_logits over the classes too.
torch::Tensor loss_of(Loss loss, const torch::Tensor& outputs, const torch::Tensor& labels);

}  // namespace scalebench
