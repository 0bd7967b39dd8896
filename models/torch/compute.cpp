// SPDX-License-Identifier: Apache-2.0
#include "models/torch/compute.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <new>
#include <sstream>

#include "kernels/buffer.hpp"
#include "kernels/gemm.hpp"

namespace scalebench {
namespace {

// Where the LibTorch versions that we build on, 1.13 to 2.11, differ: everything else is the same
// source for all of them.

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

// From 2.4 on one set of functions takes the device; the older ones are deprecated.
bool autocast_is_enabled(at::DeviceType device) {
  return at::autocast::is_autocast_enabled(device);
}
at::ScalarType autocast_dtype(at::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}
void set_autocast(at::DeviceType device, bool enabled, at::ScalarType dtype) {
  at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::set_autocast_enabled(device, enabled);
}

#else

bool autocast_is_enabled(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
at::ScalarType autocast_dtype(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype()
                            : at::autocast::get_autocast_gpu_dtype();
}
void set_autocast(at::DeviceType device, bool enabled, at::ScalarType dtype) {
  if (device == at::kCPU) {
    at::autocast::set_autocast_cpu_dtype(dtype);
    at::autocast::set_cpu_enabled(enabled);
  } else {
    at::autocast::set_autocast_gpu_dtype(dtype);
    at::autocast::set_enabled(enabled);
  }
}

#endif

at::ScalarType type_of(Precision precision) {
  return precision == Precision::fp16 ? at::kHalf : at::kBFloat16;
}

StepDevice device_of(torch::Device device) {
  return {device.is_cuda(), device.is_cuda() && has_tf32(device.index())};
}

std::string text_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const c10::Error*>(&error);
  return own != nullptr ? own->what_without_backtrace() : error.what();
}

[[noreturn]] void fail_on_host(const std::string& asked) {
  fail<OutOfMemory>("out of host memory: {} bytes asked for, {} available; a smaller batch may fit",
                    asked, host_bytes_available());
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
  const std::string why = why_no_step(precision, StepKind::eager, device_of(device));
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
  // OpenBLAS built with pthreads takes all cores for a matrix product whatever OpenMP is told.
  set_gemm_threads(threads);
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

void in_parallel(unsigned count, const std::function<void(unsigned)>& piece) {
  at::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) piece(static_cast<unsigned>(i));
  });
}

void finish(torch::Device device) {
  if (device.is_cuda()) synchronize_torch_stream();
}

std::string why_no_step(Precision precision, StepKind step, const StepDevice& device) {
  if (step == StepKind::graph && !device.cuda) return "graphs are CUDA's, not for device cpu";
  if (step == StepKind::fused && precision == Precision::fp16) {
    return "the fused layers are float32 and bfloat16, not fp16";
  }
  if (is_recorded(step, device.cuda) && precision == Precision::fp16) {
    return "a graph keeps its loss scale: fp16 cannot have one, bfloat16 can";
  }
  if (precision == Precision::tf32 && !device.tf32) {
    return device.cuda ? "this card's tensor cores have no TF32 (cards since Ampere have)"
                       : "TF32 is a format of CUDA's tensor cores, not for device cpu";
  }
  return {};
}

std::string why_no_step(Precision precision, StepKind step, ComputeDevice kind, int index,
                        int threads) {
  const torch::Device device = select_compute_device(kind, index, threads);
  std::string why = why_no_step(precision, step, {.cuda = device.is_cuda(), .tf32 = true});
  if (!why.empty()) return why;
  try {
    require_precision(precision, device);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

std::string last_line(const std::exception& error) {
  std::istringstream text(text_of(error));
  std::string line, last;
  while (std::getline(text, line)) {
    if (line.find_first_not_of(" \t\r~^<>-") != std::string::npos) last = line;
  }
  const std::size_t first = last.find_first_not_of(' ');
  return first == std::string::npos ? "no reason given" : last.substr(first);
}

void rethrow_memory_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fail_on_host("an unknown number of");
  } catch (const std::exception& error) {
    const std::string text = text_of(error);
    // A TorchScript interpreter wraps the allocators' errors in its own: their texts remain.
    constexpr std::string_view kHost = "DefaultCPUAllocator: ", kTried = "you tried to allocate ";
    const std::size_t host = text.find(kHost);
    if (const std::size_t tried = text.find(kTried, std::min(host, text.size()));
        tried != std::string::npos) {
      const std::size_t bytes = tried + kTried.size();
      fail_on_host(text.substr(bytes, text.find_first_not_of("0123456789", bytes) - bytes));
    }
    // LibTorch's allocator, its calls of the runtime (graphs), cuDNN, cuBLAS, and a Buffer.
    for (const std::string_view way :
         {"CUDA out of memory", "CUDA error: out of memory", "CUDNN_STATUS_ALLOC_FAILED",
          "CUBLAS_STATUS_ALLOC_FAILED", "out of device memory"}) {
      const std::size_t first = text.find(way);
      if (first == std::string::npos) continue;
      throw OutOfMemory(text.substr(first, text.find('\n', first) - first));
    }
    if (text.starts_with("out of host memory")) throw OutOfMemory(text);
    throw;
  }
}

std::string torch_version() { return TORCH_VERSION; }

bool torch_sees_cuda() { return torch::cuda::is_available(); }

}  // namespace scalebench
