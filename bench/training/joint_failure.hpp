// SPDX-License-Identifier: Apache-2.0
// What went wrong on one rank, known to all of them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "bench/program/program.hpp"
#include "collectives/control.hpp"
#include "models/torch/device.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

/// Runs `work`. Returns why memory was not enough, naming the rank; empty: it was.
template <class Work>
std::string lack_of_memory(const Ranks& ranks, Work work) {
  try {
    work();
    return {};
  } catch (const OutOfMemory& error) {
    return fmt::format("rank {} {}: {}", ranks.session.rank(), ranks.session.host(), error.what());
  }
}

/// Collective: the failure of the first rank that has one, empty where none has.
inline std::string joint_failure(Communicator& host, const std::string& mine) {
  for (const std::string& one : all_gather(host, mine)) {
    if (!one.empty()) return one;
  }
  return {};
}

// A cap on the memory that training takes. On a GPU LibTorch's share of the device is cut, so that
// an allocation fails. On a CPU it is counted afterwards what the process has grown by: libraries
// below LibTorch do not live through an allocation that fails.

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
