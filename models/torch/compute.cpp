// SPDX-License-Identifier: Apache-2.0
#include "models/torch/compute.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/torch/device.hpp"
#include "models/torch/error.hpp"

namespace scalebench {
namespace {

at::ScalarType type_of(Precision precision) {
  return precision == Precision::fp16 ? at::kHalf : at::kBFloat16;
}

StepDevice device_of(torch::Device device) {
  return {device.is_cuda(), device.is_cuda() && has_tf32(device.index())};
}

}  // namespace

AutocastScope::AutocastScope(Precision precision, torch::Device device)
    : active_(is_autocast(precision)), device_(device.type()) {
  if (!active_) return;
  enabled_before_ = autocast_is_enabled(device_);
  dtype_before_ = autocast_dtype(device_);
  set_autocast(device_, true, type_of(precision));
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  at::autocast::clear_cache();
  set_autocast(device_, enabled_before_, dtype_before_);
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

// Thread counts and device selection, the two settings that LibTorch keeps per thread or process.

namespace {

/// OpenBLAS built with pthreads takes all cores for a matrix product whatever OpenMP is told.
/// Looked up at run time: LibTorch may come with another BLAS.
void set_blas_threads(int threads) {
  using SetThreads = void (*)(int);
  if (void* const symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(symbol)(threads);
  }
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap, too,
  mallopt(M_TRIM_THRESHOLD, -1);  // which never shrinks
  mallopt(M_TOP_PAD, 64 << 20);   // and grows in few steps
#endif
}

torch::Device select_compute_device(ComputeDevice device, int index, int threads) {
  if (threads < 1) fail<UsageError>("{} threads: expected at least 1", threads);
  torch::set_num_threads(threads);
  set_blas_threads(threads);
  if (device == ComputeDevice::cpu) return torch::kCPU;
  if (!torch::cuda::is_available()) {
    fail<Unavailable>(
        "this LibTorch ({}) sees no CUDA device: train with device cpu, or build on "
        "a LibTorch for CUDA on a machine with a GPU",
        TORCH_VERSION);
  }
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (index < 0 || index >= count) {
    fail<Unavailable>("CUDA device {}: LibTorch sees {} of them, numbered from 0", index, count);
  }
  select_device(index);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

void compute_with_one_thread() {
  // torch::set_num_threads would be for the whole process with some BLAS libraries. Asking first
  // lets LibTorch give this thread the process's number now instead of when it first computes.
  torch::get_num_threads();
  using SetThreads = void (*)(int);
  if (void* const symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) {
    reinterpret_cast<SetThreads>(symbol)(1);
  }
}

void finish(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

}  // namespace scalebench
