// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a wish to end in good order: what was measured is kept.
#pragma once

#include <atomic>
#include <csignal>

#include "bench/exit_code.hpp"

namespace scalebench {

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
