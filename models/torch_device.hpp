// SPDX-License-Identifier: Apache-2.0
// What only a LibTorch with CUDA can say and do about a device, for callers that do not include it.
// In a build without, there is no device and nothing to do.
#pragma once

#include <cstddef>

#include "kernels/device.hpp"

namespace scalebench {

/// Where LibTorch enqueues what the calling thread asks for; the default stream without CUDA.
DeviceStream torch_stream();

/// Whether the device's tensor cores have TF32 (compute capability 8.0 and later).
bool has_tf32(int device);

/// Gives back what LibTorch keeps of freed memory, on the selected device and the host, so that a
/// later trainer finds as much as the first one did.
void release_kept_memory();

/// LibTorch takes at most so many bytes of the device from now on; 0: all that it has.
void limit_device_memory(int device, std::size_t bytes);

/// Kernels of convolutions are chosen by trying them, once for each shape: for shapes that stay.
void try_convolutions(bool wanted);

}  // namespace scalebench
