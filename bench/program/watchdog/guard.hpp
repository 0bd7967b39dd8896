// SPDX-License-Identifier: Apache-2.0
// A rank's watchdog: a child of its process, which goes on where the rank is stopped, stuck or
// dead. It tells rank 0's watchdog twice a second how far its rank is; that one judges.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/program/watchdog/post.hpp"
#include "bench/program/watchdog/progress.hpp"

namespace scalebench {

/// What a rank's process and its watchdog share.
struct WatchdogPage {
  enum class Life : std::uint32_t {
    unwatched,   // MPI begins
    alone,       // there is one rank, or there is no way between the watchdogs
    linking,     // rank 0's watchdog is to answer
    watched,     // by rank 0's watchdog
    parted,      // the rank's work has come to its end; MPI's may still come
    failing,     // the rank says itself why it ends
    terminated,  // by a signal, as of its launcher
  };

  ProgressMarks marks;
  std::atomic<Life> life = Life::unwatched;
  std::atomic<bool> begun = false;    // the watchdog has written the way to itself
  std::atomic<bool> reached = false;  // rank 0's watchdog has answered
  std::atomic<bool> ending = false;   // the watchdog ends this rank
  std::atomic<bool> over = false;     // the rank waits for the watchdog's end

  Invitation invitation = {};  // to this rank's watchdog; then, to rank 0's

  // Written before the life begins that is to be linked.
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t speaker = 0;  // where rank 0's host is lost: the first rank of another one
  double limit_seconds = 0;
};

/// Watches `parent`, whose child this process is, and ends with it. `news` is readable when the
/// page has changed, and at its end when the parent has ended. `name`: of the parent, before its
/// rank is known. One that is stopped for `stopped_seconds` where nobody else sees it is named and
/// killed, and one that dies there is named.
[[noreturn]] void watch_parent(WatchdogPage& page, pid_t parent, int news, const std::string& name,
                               double stopped_seconds);

}  // namespace scalebench
