// SPDX-License-Identifier: Apache-2.0
// While MPI begins and ends, nothing in this process can say that it is stopped (as by SIGSTOP),
// and the other ranks wait for it inside MPI for ever. A child of it sees that, on any host and
// under any launcher.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>

namespace scalebench {

class StopGuard {
 public:
  static constexpr std::chrono::seconds kEvery{6};  // between looks
  static constexpr int kLooks = 4;                  // in a row

  /// From now on: once this process was stopped at all of these looks, "rank 1 on n3 (process 4711)
  /// is stopped" is on stderr, and it is killed. The child has neither its environment nor its
  /// command line, so that nobody takes it for a rank. Where no process can be had, nobody watches.
  StopGuard(int argc, char** argv, std::chrono::milliseconds every = kEvery);
  /// Ends with the child.
  ~StopGuard();
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

  /// While it lives the child does not look: the watchdog sees more.
  class Rest {
   public:
    explicit Rest(const StopGuard& guard) : guard_(guard) { guard_.watch(false); }
    ~Rest() { guard_.watch(true); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    const StopGuard& guard_;
  };

 private:
  void watch(bool watches) const {
    if (watches_ != nullptr) *watches_ = watches;
  }

  std::atomic<bool>* watches_ =
      nullptr;  // in memory that is the child's, too; null: nobody watches
  pid_t child_ = -1;
};

}  // namespace scalebench
