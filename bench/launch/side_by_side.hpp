// SPDX-License-Identifier: Apache-2.0
// Processes that a platform started side by side, without a launcher of ranks: the first of them
// starts the launcher for all, and the others end, or wait for its end where the platform needs
// that. Nothing is sent between them.
#pragma once

#include <string>

#include "bench/launch/hosts.hpp"
#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// What each process says in one line: who starts the ranks, and what becomes of this one.
std::string part_of(const ProcessPlace& place);

/// Of the first process: while it is open, also in a program that takes this process's place, the
/// others see that the first is there; to its port they connect. Not open where nobody has to stay.
/// Throws UsageError where it cannot be opened.
Descriptor port_for_others(const ProcessPlace& first);

/// Returns when the first process has ended, at once where nobody has to stay. Throws Error when it
/// has not been there for `patience_seconds`.
void stay_for_first(const ProcessPlace& place, int patience_seconds = 300);

}  // namespace scalebench
