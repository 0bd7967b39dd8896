// SPDX-License-Identifier: Apache-2.0
// All parameters of a replica in one flat buffer of ours and all gradients in another: the
// communicator reads and writes where the network computes, and the optimizer sees one tensor.
// Both hold the parameters from the last to the first, which is about the order in which a backward
// pass completes their gradients, each at a multiple of 64 bytes.
// Autograd makes each step's gradients anew; a hook moves each into its place as soon as it is
// complete. That is one pass less over memory than zeroing a buffer into which autograd then adds.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <functional>
#include <vector>

#include "collectives/communicator.hpp"
#include "models/gradient_buckets.hpp"

namespace scalebench {

class FlatReplica {
 public:
  /// Collective. float32 parameters on one device, whose values are kept; buffers lie in windows
  /// where the communicator's memory is the device's.
  FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator);
  /// The parameters get memory of their own again, and no gradients.
  ~FlatReplica();
  FlatReplica(const FlatReplica&) = delete;
  FlatReplica& operator=(const FlatReplica&) = delete;

  using Place = FlatPlace;
  /// By index of the parameter; counts are without the gap that follows.
  const std::vector<Place>& places() const { return places_; }

  /// With gaps, which are zero. `flat_parameters().grad()` is flat_gradients().
  Span parameters() const { return parameter_window_.span; }
  Span gradients() const { return gradient_window_.span; }
  const torch::Tensor& flat_parameters() const { return flat_parameters_; }
  const torch::Tensor& flat_gradients() const { return flat_gradients_; }

  /// Called on the thread of the backward pass with the index of each parameter whose gradient is
  /// complete in its place, after before_last_backward(); at the latest in finish_step().
  void on_ready(std::function<void(std::size_t parameter)> ready) { ready_ = std::move(ready); }

  void begin_step();
  void before_last_backward() { last_ = true; }
  /// Gradients of parameters that took no part in the step are set to zero and called ready.
  void finish_step();

 private:
  void gather(std::size_t index);

  std::vector<torch::Tensor> parameters_;
  std::vector<Place> places_;
  Window parameter_window_;
  Window gradient_window_;
  torch::Tensor flat_parameters_;
  torch::Tensor flat_gradients_;
  std::vector<torch::Tensor> views_;  // of the gradients, by index
  std::vector<bool> gathered_;
  bool last_ = false;
  std::function<void(std::size_t)> ready_;
  struct Hook;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  std::vector<std::uintptr_t> hooks_;
};

}  // namespace scalebench
