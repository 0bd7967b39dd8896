// SPDX-License-Identifier: Apache-2.0
// Tells a LayerTrace of each layer that a pass has done: between the layers of a chain in the
// forward pass, and by hooks where autograd has completed a gradient in the backward pass.
// A network that is no chain is divided by the modules that own parameters, in their order; all of
// its forward pass then is the first's.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "models/layer_trace.hpp"
#include "models/network.hpp"
#include "models/replay_trace.hpp"

namespace scalebench {

/// Names and gradient sizes of the layers that LayerMarks tells of; no durations.
std::vector<TracedLayer> traced_layers(Network& network);

class LayerMarks {
 public:
  /// Both must outlive the marks, each of which waits for what a GPU still does. Hooks are called
  /// after those that are there already.
  LayerMarks(Network& network, LayerTrace& trace);
  ~LayerMarks();
  LayerMarks(const LayerMarks&) = delete;
  LayerMarks& operator=(const LayerMarks&) = delete;

  /// What network.forward() returns.
  torch::Tensor forward(torch::Tensor images);

 private:
  struct Hook;

  Network& network_;
  LayerTrace& trace_;
  torch::Device device_ = torch::kCPU;
  std::vector<Layer> layers_;  // empty: no chain
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  std::vector<std::uintptr_t> hooks_;
};

}  // namespace scalebench
