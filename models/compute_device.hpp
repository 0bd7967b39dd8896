// SPDX-License-Identifier: Apache-2.0
// Where a rank computes: LibTorch's view of it, chosen once per rank and thread.
#pragma once

#include <torch/types.h>

#include "models/trainer_options.hpp"

namespace scalebench {

/// Makes the calling thread compute on that device with that many CPU threads, and returns it.
/// LibTorch's OpenMP setting belongs to the calling thread; an OpenBLAS with its own threads is
/// told too, because LibTorch does not. Throws Unavailable when LibTorch or the machine has no such
/// device, UsageError for fewer than one thread.
torch::Device select_compute_device(ComputeDevice device, int index, int threads);

/// For a thread that helps a rank: LibTorch computes on it alone, without threads of its own.
void compute_with_one_thread();

/// From now on this process keeps memory that is freed. LibTorch asks for the same tens of
/// megabytes in every step; glibc would return them to the system each time, and every page would
/// be faulted in and zeroed anew. Does nothing with another C library.
void keep_freed_memory();

/// Returns when everything enqueued on the device is done; at once for the CPU.
void finish(torch::Device device);

}  // namespace scalebench
