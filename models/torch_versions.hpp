// SPDX-License-Identifier: Apache-2.0
// Where the LibTorch versions that we build on, 1.13 to 2.11, differ: everything else is the same
// source for all of them.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace scalebench {

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
