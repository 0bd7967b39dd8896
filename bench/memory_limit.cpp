// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_limit.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"
#include "models/torch_device.hpp"

namespace scalebench {
namespace {

/// What RLIMIT_DATA counts: heap and private writable mappings.
std::size_t data_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t kibibytes = 0;
    if (word == "VmData:" && status >> kibibytes) return kibibytes * 1024;
  }
  fail("/proc/self/status: has no VmData, which --memory-limit needs on a CPU");
}

/// OpenBLAS takes its workspace at the first product, and asks for it again and again, forever,
/// where it is refused: it shall have it before anything is limited.
void let_blas_take_its_workspace() {
  constexpr std::size_t kSide = 256;
  const Buffer factor(kSide * kSide, DType::float32), product(kSide * kSide, DType::float32);
  gemm(factor.span(), factor.span(), product.span(), kSide, kSide, kSide);
}

void set_data_limit(const rlimit& limit) {
  if (setrlimit(RLIMIT_DATA, &limit) != 0) fail("setrlimit: {}", std::strerror(errno));
}

}  // namespace

MemoryLimit::MemoryLimit(const TrainerOptions& trainer, std::size_t bytes) {
  if (bytes == 0) return;
  if (trainer.device == ComputeDevice::cuda) {
    limit_device_memory(trainer.device_index, bytes);
    device_ = trainer.device_index;
    return;
  }
  let_blas_take_its_workspace();
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) fail("getrlimit: {}", std::strerror(errno));
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, data_bytes() + bytes);
  set_data_limit(limit);
  before_ = before;
}

MemoryLimit::~MemoryLimit() {
  if (device_) limit_device_memory(*device_, 0);
  // What was allowed before is allowed again.
  if (before_) static_cast<void>(setrlimit(RLIMIT_DATA, &*before_));
}

}  // namespace scalebench
