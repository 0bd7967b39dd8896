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

/// While it lives, and in a program that takes this process's place, others can see that the first
/// process is there: a port of its host is open, to which they connect. None is opened where nobody
/// has to stay.
class OpenPort {
 public:
  /// Throws UsageError where the port cannot be opened.
  explicit OpenPort(const ProcessPlace& place);

 private:
  Descriptor socket_;
};

/// Returns when the first process has ended, at once where nobody has to stay. Throws Error when it
/// has not been there for `patience_seconds`.
void stay_for_first(const ProcessPlace& place, int patience_seconds = 300);

}  // namespace scalebench
