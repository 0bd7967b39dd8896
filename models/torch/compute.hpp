// SPDX-License-Identifier: Apache-2.0
// LibTorch's autocast as a scope; its interface changed with 2.4.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/version.h>

#include "models/torch/device.hpp"

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

// Where a rank computes: LibTorch's view of it, chosen once per rank and thread.

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

// Where the LibTorch versions that we build on, 1.13 to 2.11, differ: everything else is the same
// source for all of them.

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

// From 2.4 on one set of functions takes the device; the older ones are deprecated.
inline bool autocast_is_enabled(at::DeviceType device) {
  return at::autocast::is_autocast_enabled(device);
}
inline at::ScalarType autocast_dtype(at::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}
inline void set_autocast(at::DeviceType device, bool enabled, at::ScalarType dtype) {
  at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::set_autocast_enabled(device, enabled);
}

#else

inline bool autocast_is_enabled(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
inline at::ScalarType autocast_dtype(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype()
                            : at::autocast::get_autocast_gpu_dtype();
}
inline void set_autocast(at::DeviceType device, bool enabled, at::ScalarType dtype) {
  if (device == at::kCPU) {
    at::autocast::set_autocast_cpu_dtype(dtype);
    at::autocast::set_cpu_enabled(enabled);
  } else {
    at::autocast::set_autocast_gpu_dtype(dtype);
    at::autocast::set_enabled(enabled);
  }
}

#endif

}  // namespace scalebench
