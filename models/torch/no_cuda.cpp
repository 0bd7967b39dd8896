// SPDX-License-Identifier: Apache-2.0
// What cuda.cpp has, where LibTorch has no CUDA.
#include <malloc.h>

#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

DeviceStream torch_stream() { return {}; }

void synchronize_torch_stream() {}

bool has_tf32(int) { return false; }

void release_kept_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void try_convolutions(bool) {}

namespace {

constexpr const char* kReason =
    "--step graph: this LibTorch was built without CUDA, whose graphs it needs";

}  // namespace

void begin_step_graphs(torch::Device) { throw UsageError(kReason); }

std::unique_ptr<StepGraph> make_step_graph(RecordedStep) { throw UsageError(kReason); }

}  // namespace scalebench
