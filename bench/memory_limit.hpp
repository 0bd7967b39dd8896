// SPDX-License-Identifier: Apache-2.0
// A cap on the memory that training takes. On a GPU LibTorch's share of the device is cut, so that
// an allocation fails. On a CPU it is counted afterwards what the process has grown by: libraries
// below LibTorch do not live through an allocation that fails.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/trainer_options.hpp"

namespace scalebench {

class MemoryLimit {
 public:
  /// On the device of `trainer`, until destroyed; 0 bytes: no cap. Throws Error when the system
  /// does not say what a process holds.
  MemoryLimit(const TrainerOptions& trainer, std::size_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// By how much a CPU's process has grown beyond the cap since then, in words; empty: it has not.
  std::string exceeded() const;

 private:
  std::size_t bytes_;
  std::optional<int> device_;
  std::size_t before_ = 0;
};

}  // namespace scalebench
