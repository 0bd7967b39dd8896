// SPDX-License-Identifier: Apache-2.0
#include "bench/training/joint_failure.hpp"

#include <fstream>

#include "kernels/error.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

/// Memory of its own that the process has touched; what it frees it keeps, see keep_freed_memory().
std::size_t data_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t kibibytes = 0;
    if (word == "RssAnon:" && status >> kibibytes) return kibibytes * 1024;
  }
  fail("/proc/self/status: has no RssAnon, which --memory-limit needs on a CPU");
}

}  // namespace

MemoryLimit::MemoryLimit(const TrainerOptions& trainer, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (trainer.device == ComputeDevice::cuda) {
    limit_device_memory(trainer.device_index, bytes);
    device_ = trainer.device_index;
  } else {
    before_ = data_bytes();
  }
}

MemoryLimit::~MemoryLimit() {
  if (device_) limit_device_memory(*device_, 0);
}

std::string MemoryLimit::exceeded() const {
  if (bytes_ == 0 || device_) return {};
  const std::size_t now = data_bytes();
  if (now <= before_ + bytes_) return {};
  return fmt::format("{} bytes taken of the {} that are allowed", now - before_, bytes_);
}

}  // namespace scalebench
