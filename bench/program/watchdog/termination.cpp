// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/termination.hpp"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "bench/cli/stderr.hpp"

namespace scalebench {
namespace {

constexpr std::chrono::milliseconds kTaken{900};  // a launcher that reads nothing is not waited for
constexpr std::chrono::milliseconds kForward{100};  // to the launcher's own host and stderr

/// Bytes that nobody has read from the pipe that stderr is; 0: none, or it is no pipe.
int unread() {
  struct stat status {};
  int bytes = 0;
  if (fstat(STDERR_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return 0;
  return ioctl(STDERR_FILENO, FIONREAD, &bytes) == 0 ? bytes : 0;
}

}  // namespace

void say_last(std::string_view line) {
  print_line(line);
  const auto until = std::chrono::steady_clock::now() + kTaken;
  while (unread() > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(kForward);
}

std::jthread start_quiet_thread(std::function<void()> body) {
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

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
