// SPDX-License-Identifier: Apache-2.0
// The exit codes of every program of the suite. Never a count: 256 failures would be a success.
#pragma once

#include <atomic>
#include <csignal>
#include <initializer_list>

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

/// The first Ctrl-C or SIGTERM asks for an orderly end; a second one ends at once.
class Interruption {
 public:
  Interruption() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      received_ = signal;
      stop_ = true;
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  }
  const std::atomic<bool>& stop() const { return stop_; }
  ExitCode exit_code() const {
    return received_ == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  }

 private:
  // A signal handler can reach nothing else.
  static inline std::atomic<bool> stop_ = false;
  static inline std::atomic<int> received_ = 0;
};

}  // namespace scalebench
