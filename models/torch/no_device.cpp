// SPDX-License-Identifier: Apache-2.0
// device.hpp where LibTorch has no CUDA.
#include <malloc.h>

#include "models/torch/device.hpp"

namespace scalebench {

DeviceStream torch_stream() { return {}; }

bool has_tf32(int) { return false; }

void release_kept_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void limit_device_memory(int, std::size_t) {}

void try_convolutions(bool) {}

}  // namespace scalebench
