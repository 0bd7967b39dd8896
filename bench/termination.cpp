// SPDX-License-Identifier: Apache-2.0
#include "bench/termination.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace scalebench {

Termination::Termination(int wake) {
  sigaction(SIGTERM, nullptr, &before_);
  if (before_.sa_handler != SIG_DFL) return;
  received_ = false;
  wake_ = wake;
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    received_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  installed_ = sigaction(SIGTERM, &action, nullptr) == 0;
}

Termination::~Termination() { restore(); }

void Termination::restore() {
  if (std::exchange(installed_, false)) sigaction(SIGTERM, &before_, nullptr);
}

void Termination::pass_on() {
  restore();
  kill(getpid(), SIGTERM);
}

}  // namespace scalebench
