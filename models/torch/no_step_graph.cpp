// SPDX-License-Identifier: Apache-2.0
// step_graph.hpp where LibTorch has no CUDA.
#include "kernels/error.hpp"
#include "models/torch/step_graph.hpp"

namespace scalebench {
namespace {

constexpr const char* kReason =
    "--step graph: this LibTorch was built without CUDA, whose graphs it needs";

}  // namespace

void begin_step_graphs(torch::Device) { throw UsageError(kReason); }

std::unique_ptr<StepGraph> make_step_graph(RecordedStep) { throw UsageError(kReason); }

}  // namespace scalebench
