// SPDX-License-Identifier: Apache-2.0
// All gradients in one flat buffer of ours: each parameter's .grad is a view into it, so that the
// backward pass writes where the communicator reads and nothing is packed or unpacked.
// Autograd adds into a gradient that exists; hence the bucket is zeroed, never reset.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

class GradientBucket {
 public:
  /// Collective. float32 parameters on one device; the buffer is in that device's memory, in the
  /// order of the parameters and without gaps, and in a window where the communicator's memory is
  /// the same, so that peers may read it where it is.
  GradientBucket(const std::vector<torch::Tensor>& parameters, Communicator& communicator);
  /// Takes the views away from the parameters before their memory goes.
  ~GradientBucket();
  GradientBucket(const GradientBucket&) = delete;
  GradientBucket& operator=(const GradientBucket&) = delete;

  /// Enqueued on the device.
  void zero() { flat_.zero_(); }

  /// The gradients, after checking that every .grad still is the view that the constructor made;
  /// throws Error otherwise (a framework that replaces gradients would silently train unsynced).
  Span gradients() const;

 private:
  std::vector<torch::Tensor> parameters_;
  Window window_;
  torch::Tensor flat_;
};

}  // namespace scalebench
