// SPDX-License-Identifier: Apache-2.0
// What is said beside the result. A stderr that cannot be written (a disk that is full, a terminal
// that is gone) raises nothing: the work goes on, and the exit code stays what it would have been.
#pragma once

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

}  // namespace scalebench
