// SPDX-License-Identifier: Apache-2.0
#include "models/autocast.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include "kernels/error.hpp"
#include "models/step_support.hpp"
#include "models/torch_device.hpp"
#include "models/torch_error.hpp"

namespace scalebench {
namespace {

namespace autocast = at::autocast;

at::ScalarType type_of(Precision precision) {
  return precision == Precision::fp16 ? at::kHalf : at::kBFloat16;
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

bool is_enabled(torch::DeviceType device) { return autocast::is_autocast_enabled(device); }
at::ScalarType dtype_on(torch::DeviceType device) { return autocast::get_autocast_dtype(device); }
void set(torch::DeviceType device, bool enabled, at::ScalarType dtype) {
  autocast::set_autocast_dtype(device, dtype);
  autocast::set_autocast_enabled(device, enabled);
}

#else

bool is_enabled(torch::DeviceType device) {
  return device == torch::kCPU ? autocast::is_cpu_enabled() : autocast::is_enabled();
}
at::ScalarType dtype_on(torch::DeviceType device) {
  return device == torch::kCPU ? autocast::get_autocast_cpu_dtype()
                               : autocast::get_autocast_gpu_dtype();
}
void set(torch::DeviceType device, bool enabled, at::ScalarType dtype) {
  if (device == torch::kCPU) {
    autocast::set_autocast_cpu_dtype(dtype);
    autocast::set_cpu_enabled(enabled);
  } else {
    autocast::set_autocast_gpu_dtype(dtype);
    autocast::set_enabled(enabled);
  }
}

#endif

StepDevice device_of(torch::Device device) {
  return {device.is_cuda(), device.is_cuda() && has_tf32(device.index())};
}

}  // namespace

AutocastScope::AutocastScope(Precision precision, torch::Device device)
    : active_(is_autocast(precision)), device_(device.type()) {
  if (!active_) return;
  enabled_before_ = is_enabled(device_);
  dtype_before_ = dtype_on(device_);
  set(device_, true, type_of(precision));
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  autocast::clear_cache();
  set(device_, enabled_before_, dtype_before_);
}

void allow_tensor_cores(Precision precision) {
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
  at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
}

void require_precision(Precision precision, torch::Device device) {
  const std::string why = why_no_step(precision, /*step_graph=*/false, device_of(device));
  if (!why.empty()) throw UsageError(why);
  if (!is_autocast(precision)) return;
  const auto options = torch::TensorOptions(device).requires_grad(true);
  const auto images = torch::ones({1, 2, 4, 4}, options);
  const auto filters = torch::ones({2, 2, 3, 3}, options);
  const auto weights = torch::ones({3, 8}, options);
  try {
    torch::Tensor result;
    {
      const AutocastScope scope(precision, device);
      result = torch::linear(torch::relu(torch::conv2d(images, filters)).flatten(1), weights);
    }
    if (result.scalar_type() != type_of(precision)) {
      fail("autocast left the result {}", c10::toString(result.scalar_type()));
    }
    result.sum().to(torch::kFloat32).backward();
    static_cast<void>(weights.grad().sum().item<float>());
  } catch (const std::exception& error) {
    fail<UsageError>("LibTorch {} cannot train in {} on {}: {}", TORCH_VERSION,
                     kPrecisionNames[static_cast<std::size_t>(precision)], device.str(),
                     last_line(error));
  }
}

}  // namespace scalebench
