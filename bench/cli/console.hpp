// SPDX-License-Identifier: Apache-2.0
// The two streams of a program: stdout is the result, stderr is progress and warnings. Only one
// rank talks. Progress replaces its line on a terminal and is a line per case elsewhere; the word
// "warning" has a colour where that is wanted.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scalebench {

enum class Color { automatic, always, never };

/// --color auto|always|never.
void add_color_option(CLI::App& app, Color& color);

/// What is known about the place where stderr goes.
struct Surroundings {
  bool terminal = false;
  std::optional<std::string> term, ci, no_color;  // TERM, CI, NO_COLOR; empty: not set
  std::size_t columns = 0;                        // 0: not known
};
Surroundings surroundings_of_stderr();

struct ConsoleStyle {
  bool rewrites = false;    // progress stays on one line
  bool colors = false;      // escape sequences for colours
  std::size_t columns = 0;  // longest line of progress that is rewritten; 0: any
};
ConsoleStyle style_of(const Surroundings& where, Color color);

class Console {
 public:
  /// `speaks`: this process prints at all (rank 0). `quiet`: no progress, warnings stay.
  Console(bool speaks, bool quiet, Color color = Color::automatic);

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
  ConsoleStyle style_;
  bool line_open_ = false;
};

/// The first `columns` characters of UTF-8 text; 0: all.
std::string_view cut(std::string_view text, std::size_t columns);

/// "45 s", "2 min", "1 h 5 min".
std::string show_duration(double seconds);

}  // namespace scalebench
