// SPDX-License-Identifier: Apache-2.0
// The two streams of a program: stdout is the result, stderr is progress and warnings. Only one
// rank talks. Progress replaces its line on a terminal and is a line per case elsewhere; the word
// "warning" has a colour on a terminal. Where the launcher mixes the streams (Open MPI 5: OpenPMIx
// issue 3858), progress ends with the first piece of the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scalebench {

/// What is known about the place where stderr goes.
struct Surroundings {
  bool terminal = false;
  std::optional<std::string> term, ci, no_color;  // TERM, CI, NO_COLOR; empty: not set
  std::size_t columns = 0;                        // 0: not known
};

struct ConsoleStyle {
  bool rewrites = false;    // progress stays on one line
  bool colors = false;      // escape sequences for colours
  std::size_t columns = 0;  // longest line of progress that is rewritten; 0: any
};
ConsoleStyle style_of(const Surroundings& where);

/// To call before any file is opened: the first one would take the place of a standard stream that
/// is closed, and hold what is printed. What is printed to a stdout that was closed still fails.
void keep_standard_streams();

/// All that was printed to stdout has gone there. Throws Error when it is closed or full.
void flush_result();

class Console {
 public:
  /// `speaks`: this process prints at all (rank 0). `quiet`: no progress, warnings stay.
  Console(bool speaks, bool quiet);

  /// A piece of the result, to stdout, flushed. Throws Error when stdout is closed or full.
  void result(std::string_view text) const;
  /// A line to stderr that stays also when progress is not wanted: what the result says in one
  /// line, where stdout is for programs.
  void last_word(std::string_view text);
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
  ConsoleStyle style_;
  bool line_open_ = false;
  bool mixed_;                       // by the launcher, as Open MPI 5 does
  mutable bool has_result_ = false;  // some of it was printed
};

/// How many characters UTF-8 text has.
std::size_t characters(std::string_view text);

/// The first `columns` characters of UTF-8 text; 0: all.
std::string_view cut(std::string_view text, std::size_t columns);

/// "45 s", "2 min", "1 h 5 min".
std::string show_duration(double seconds);

// Text from outside (names, notes of other programs' files) on a terminal: what would
// steer it or turn the reading direction is spelled out instead of being sent.

/// `text` with control characters as \x1b and marks of reading direction as \u202e; what is no
/// UTF-8 is replaced by U+FFFD.
std::string printable(std::string_view text);

}  // namespace scalebench
