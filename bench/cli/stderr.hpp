// SPDX-License-Identifier: Apache-2.0
// What is said beside the result. A stderr that cannot be written (a disk that is full, a terminal
// that is gone) raises nothing: the work goes on, and the exit code stays what it would have been.
#pragma once

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace scalebench {

/// In one piece, if stderr takes it. fmt::print(stderr, …) would throw where it does not.
inline void print_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// The same, with a line break after it.
inline void print_line(std::string_view line) { print_to_stderr(std::string(line) + "\n"); }

/// As print_line(), of a line that must not be lost although the job ends with it: launchers drop
/// what they have not read when they are told to abort. Returns when the pipe that stderr is has
/// been read, and a moment later; at most within a second.
inline void say_last(std::string_view line) {
  print_line(line);
  constexpr int kLooks = 90;  // of 10 ms: a launcher that reads nothing is not waited for
  struct stat status {};
  const bool is_pipe = fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
  for (int looks = 0, unread = 0; is_pipe && looks < kLooks; ++looks) {
    if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0) break;
    usleep(10'000);
  }
  usleep(100'000);  // to the launcher's own host and stderr
}

}  // namespace scalebench
