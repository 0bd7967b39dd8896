// SPDX-License-Identifier: Apache-2.0
// The exit codes of every program of the suite. Never a count: 256 failures would be a success.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace scalebench {

enum class ExitCode : int {
  ok = 0,
  regression = 1,
  usage = 2,       // the command line, a config or a data set is not valid
  incomplete = 3,  // some cases failed, are missing or are wrong
  nothing_measured = 4,
  internal = 5,
  interrupted = 130,
  terminated = 143,
};

// Ctrl-C and SIGTERM as a wish to end in good order: what was measured is kept.

/// The first Ctrl-C or SIGTERM asks for an orderly end; a second one, of either kind, ends at once.
class Interruption {
 public:
  Interruption() {
    if (stop_) return;  // asked before: the next signal is the second one
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      for (const int one : kSignals) std::signal(one, SIG_DFL);
      received_ = signal;
      stop_ = true;
    };
    // One that comes while the first is being taken is the second one, too.
    for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
    for (const int signal : kSignals) sigaction(signal, &action, nullptr);
  }
  const std::atomic<bool>& stop() const { return stop_; }
  ExitCode exit_code() const {
    return received_ == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  }

 private:
  static constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};
  // A signal handler can reach nothing else.
  static inline std::atomic<bool> stop_ = false;
  static inline std::atomic<int> received_ = 0;
};

}  // namespace scalebench
