// SPDX-License-Identifier: Apache-2.0
// The two streams of a program: stdout is the result, stderr is progress and warnings. Only one
// rank talks. Progress replaces its line on a terminal and is a line per case elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace scalebench {

class Console {
 public:
  /// `speaks`: this process prints at all (rank 0). `quiet`: no progress, warnings stay.
  Console(bool speaks, bool quiet);

  /// A piece of the result, to stdout, flushed. Throws Error when stdout is closed or full.
  void result(std::string_view text) const;
  /// "warning: text (remedy)" to stderr.
  void warn(std::string_view text, std::string_view remedy = "");
  /// "[12/48] text · ETA 2 min" to stderr. `seconds_left` < 0: unknown.
  void progress(std::size_t done, std::size_t total, std::string_view text, double seconds_left);
  /// Removes a progress line from a terminal.
  void clear_progress();
  void note(std::string_view text);

 private:
  bool speaks_;
  bool quiet_;
  bool terminal_;
  bool line_open_ = false;
};

/// "45 s", "2 min", "1 h 5 min".
std::string show_duration(double seconds);

}  // namespace scalebench
