// SPDX-License-Identifier: Apache-2.0
// SIGTERM, by which launchers end the ranks of a job: heard, so that a rank can say a last word,
// and passed on. Where the program has a handler of its own, that one stays.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <string_view>
#include <thread>

namespace scalebench {

// A line that must not be lost although the job ends with it: launchers drop what they have not
// read when they are told to abort.

/// As print_line(), and returns when the launcher has taken it and had a
/// moment to forward it; at most a second later.
void say_last(std::string_view line);

/// A thread that takes no signals: they belong to the program's main thread.
std::jthread start_quiet_thread(std::function<void()> body);

/// At most one at a time in a process.
class Termination {
 public:
  /// `wake`: an eventfd that is written to when the signal comes.
  explicit Termination(int wake);
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  static bool received() { return received_; }
  /// Ends this process by SIGTERM, as it would have ended without this.
  void pass_on();

 private:
  void restore();

  struct sigaction before_ {};
  bool installed_ = false;
  // A signal handler can reach nothing else.
  static inline std::atomic<bool> received_ = false;
  static inline std::atomic<int> wake_ = -1;
};

}  // namespace scalebench
