// SPDX-License-Identifier: Apache-2.0
// What went wrong on one rank, known to all of them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "bench/program.hpp"
#include "collectives/control.hpp"
#include "models/torch_error.hpp"

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

}  // namespace scalebench
