// SPDX-License-Identifier: Apache-2.0
// device.hpp on LibTorch's CUDA half.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <malloc.h>

#include <algorithm>

#include "models/torch/device.hpp"

namespace scalebench {

DeviceStream torch_stream() { return {c10::cuda::getCurrentCUDAStream().stream()}; }

bool has_tf32(int device) {
  return at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->major >= 8;
}

void release_kept_memory() {
  c10::cuda::CUDACachingAllocator::emptyCache();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void limit_device_memory(int device, std::size_t bytes) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  // The allocator knows the devices once it was asked for something.
  static_cast<void>(at::empty({1}, at::TensorOptions(at::Device(at::kCUDA, index))));
  const auto total = static_cast<double>(at::cuda::getDeviceProperties(index)->totalGlobalMem);
  const double share = bytes == 0 ? 1 : std::min(1.0, static_cast<double>(bytes) / total);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(share, index);
}

void try_convolutions(bool wanted) { at::globalContext().setBenchmarkCuDNN(wanted); }

}  // namespace scalebench
