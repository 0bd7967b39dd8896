// SPDX-License-Identifier: Apache-2.0
// Thread counts and device selection, the two settings that LibTorch keeps per thread or process.
#include "models/compute_device.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <torch/cuda.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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
