// SPDX-License-Identifier: Apache-2.0
// SIGTERM, by which launchers end the ranks of a job: heard, so that a rank can say a last word,
// and passed on. Where the program has a handler of its own, that one stays.
#pragma once

#include <atomic>
#include <csignal>

namespace scalebench {

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
