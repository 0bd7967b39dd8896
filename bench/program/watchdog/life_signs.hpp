// SPDX-License-Identifier: Apache-2.0
// Whether this process does something, as far as the system can tell: a rank that builds a model
// for minutes cannot mark its progress, and is to be told from one whose library never returns.
#pragma once

#include <cstdint>

namespace scalebench {

class LifeSigns {
 public:
  /// Since the last call: the main thread, which is not to be the calling one, read or wrote bytes
  /// by system calls, or blocks of a file came from a disk or go there (also by memory that is
  /// mapped); or, for a twentieth of the time, which is more than a watchdog needs itself, threads
  /// were on a processor or the main thread was, or waited for its turn: where many ranks share a
  /// core, each has less than a twentieth of it.
  bool any();

 private:
  double looked_ = 0;
  double computed_ = 0;  // seconds, of all threads
  double runnable_ = 0;  // seconds, of the main thread
  std::int64_t bytes_ = 0;
  long blocks_ = 0;
};

}  // namespace scalebench
