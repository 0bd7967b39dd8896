// SPDX-License-Identifier: Apache-2.0
// LibTorch's autocast as a scope; its interface changed with 2.4.
#pragma once

#include <torch/types.h>

#include "models/precision.hpp"

namespace scalebench {

/// Autocast to that precision on the calling thread and for that kind of device while it lives;
/// nothing for float32 and tf32. At its end the 16-bit copies of the weights, which LibTorch
/// caches, are forgotten: they are of weights that the next update changes.
class AutocastScope {
 public:
  AutocastScope(Precision precision, torch::Device device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  torch::DeviceType device_;
  bool enabled_before_ = false;
  at::ScalarType dtype_before_ = at::kBFloat16;
};

/// Whether products and convolutions of this process may use TF32 from now on: for tf32 alone.
void allow_tensor_cores(Precision precision);

/// Tries a small convolution and dense layer, forward and backward. Throws UsageError in one line
/// with LibTorch's reason when this LibTorch cannot train in that precision on that device.
void require_precision(Precision precision, torch::Device device);

}  // namespace scalebench
