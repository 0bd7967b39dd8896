// SPDX-License-Identifier: Apache-2.0
// Whether another process of this host does something, as far as the system can tell: a rank that
// builds a model for minutes cannot mark its progress, and is to be told from one whose library
// never returns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace scalebench {

class LifeSigns {
 public:
  explicit LifeSigns(pid_t process);

  struct Look {
    bool stopped = false;  // as by SIGSTOP
    /// The main thread runs, or waits for its turn on a processor; or, since the last look, it read
    /// or wrote bytes by system calls, a page of a mapped file came from a disk, or threads were on
    /// a processor for a twentieth of the time.
    bool alive = false;
  };
  Look look();

 private:
  const std::string process_;  // its folder of /proc
  const std::string bytes_of_main_thread_;
  double looked_ = 0;
  double computed_ = 0;     // seconds, of all threads
  std::int64_t moved_ = 0;  // bytes and pages
};

/// Seconds of a clock that only goes forward.
double watchdog_seconds();

}  // namespace scalebench
