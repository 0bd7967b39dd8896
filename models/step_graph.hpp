// SPDX-License-Identifier: Apache-2.0
// A step's forward and backward pass recorded once as a CUDA graph and then replayed: its hundreds
// of kernels start as one, which wins where launching them takes longer than running them. The
// update stays outside, because its rate changes. Only a LibTorch with CUDA has it.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>

#include "models/model_pass.hpp"

namespace scalebench {

/// Before the network is built: the calling thread works on a stream of its own from now on, since
/// the default stream cannot be recorded. Throws UsageError in one line where there are no graphs.
void begin_step_graphs(torch::Device device);

/// Runs `pass` as it is for some steps, then records it, then replays. All calls need the same
/// number of images and the same scale. `enter` is called with Phase::forward alone: a graph has no
/// phases. Throws UsageError when the network does what cannot be recorded.
std::unique_ptr<ModelPass> make_step_graph(ModelPass& pass, std::function<void(Phase)> enter);

}  // namespace scalebench
