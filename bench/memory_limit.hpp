// SPDX-License-Identifier: Apache-2.0
// A cap on the memory that training takes, for as long as it lives: on a GPU LibTorch's own share
// of the device, on a CPU what the process holds when it begins and that many bytes more
// (RLIMIT_DATA), so that an allocation fails instead of a machine swapping.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <optional>

#include "models/trainer_options.hpp"

namespace scalebench {

class MemoryLimit {
 public:
  /// On the device of `trainer`; 0 bytes: no cap. Throws Error when the system refuses.
  MemoryLimit(const TrainerOptions& trainer, std::size_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  std::optional<int> device_;
  std::optional<rlimit> before_;
};

}  // namespace scalebench
