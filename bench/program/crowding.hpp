// SPDX-License-Identifier: Apache-2.0
// Whether ranks share cores: what they measure is then the scheduler, and their rows must not
// pass for those of N devices.
#pragma once

#include <cstddef>

#include "bench/program/program.hpp"

namespace scalebench {

/// Collective: whether these ranks, as they run now, cannot all have a core of their own among
/// those that they may run on. Several hosts may be one machine.
bool is_crowded(const Ranks& ranks);

/// Collective: how many cores the ranks of this rank's machine have together. Each may be bound to
/// one of them.
std::size_t cores_together(const Ranks& ranks);

}  // namespace scalebench
