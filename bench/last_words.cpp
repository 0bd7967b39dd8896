// SPDX-License-Identifier: Apache-2.0
#include "bench/last_words.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

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
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  const auto until = std::chrono::steady_clock::now() + kTaken;
  while (unread() > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(kForward);
}

}  // namespace scalebench
