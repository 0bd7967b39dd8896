// SPDX-License-Identifier: Apache-2.0
// Whether ranks share cores: what they measure is then the scheduler, and their rows must not
// pass for those of N devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/program/program.hpp"

namespace scalebench {

/// Whether not every rank can have a core of its own among those that it may run on. By rank: its
/// machine, and the numbers of its cores.
bool share_cores(const std::vector<std::string>& machines,
                 const std::vector<std::vector<double>>& cores);

/// Collective: the same of these ranks as they run now; several hosts may be one machine.
bool is_crowded(const Ranks& ranks);

/// Collective: how many cores the ranks of this rank's machine have together. Each may be bound to
/// one of them.
std::size_t cores_together(const Ranks& ranks);

}  // namespace scalebench
