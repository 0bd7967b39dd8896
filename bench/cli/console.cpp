// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8cpp/utf8.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/cli/stderr.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Surroundings surroundings_of_stderr() {
  Surroundings where{isatty(STDERR_FILENO) == 1, variable("TERM"), variable("CI"),
                     variable("NO_COLOR")};
  winsize size{};
  if (where.terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) where.columns = size.ws_col;
  return where;
}

}  // namespace

ConsoleStyle style_of(const Surroundings& where) {
  ConsoleStyle style;
  style.rewrites = where.terminal && where.term.value_or("dumb") != "dumb" && !where.ci;
  // https://no-color.org: set to anything but nothing.
  const bool refused = !where.no_color.value_or("").empty();
  style.colors = style.rewrites && !refused;
  // A line that fills the last column wraps on some terminals, and only half of it is rewritten.
  style.columns = where.columns > 1 ? where.columns - 1 : 0;
  return style;
}

void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free: this one, as those below it are not.
    if (fcntl(stream, F_GETFD) == -1) {
      open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void flush_result() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail("stdout cannot be written");
}

Console::Console(bool speaks, bool quiet)
    : speaks_(speaks),
      quiet_(quiet),
      style_(style_of(surroundings_of_stderr())),
      mixed_(std::getenv("PRTE_LAUNCHED") != nullptr) {}

void Console::result(std::string_view text) const {
  if (!speaks_) return;
  // What has gone to stderr is to be read before.
  if (mixed_ && !has_result_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  has_result_ = true;
  std::fwrite(text.data(), 1, text.size(), stdout);
  flush_result();
}

void Console::last_word(std::string_view text) {
  if (!speaks_) return;
  if (mixed_ && has_result_) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clear_progress();
  print_line(text);
}

void Console::warn(std::string_view text, std::string_view remedy) {
  if (!speaks_) return;
  // What is to be read after a piece of the result, not inside of it.
  if (mixed_ && has_result_) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clear_progress();
  const char* const word = style_.colors ? "\033[1;33mwarning\033[0m" : "warning";
  if (remedy.empty()) {
    print_line(fmt::format("{}: {}", word, text));
  } else {
    print_line(fmt::format("{}: {} ({})", word, text, remedy));
  }
}

void Console::progress(std::size_t done, std::size_t total, std::string_view text,
                       double seconds_left) {
  if (!speaks_ || quiet_ || (mixed_ && has_result_)) return;
  std::string line = fmt::format("[{}/{}] {}", done, total, text);
  if (seconds_left >= 0) line += fmt::format(" · ETA {}", show_duration(seconds_left));
  if (style_.rewrites) {
    print_to_stderr(fmt::format("\r\033[K{}", cut(line, style_.columns)));
    line_open_ = true;
  } else {
    print_line(line);
  }
}

void Console::clear_progress() {
  if (!line_open_) return;
  print_to_stderr("\r\033[K");
  line_open_ = false;
}

void Console::note(std::string_view text) {
  if (!speaks_ || quiet_ || (mixed_ && has_result_)) return;
  clear_progress();
  print_line(text);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xC0U) != 0x80U; }));
}

std::string_view cut(std::string_view text, std::size_t columns) {
  if (columns == 0) return text;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && characters++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string show_duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<long>(std::lround(seconds / 60));
  if (minutes < 90) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

namespace {

/// Control characters and marks of reading direction.
bool steers(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0x200e || point == 0x200f ||
         point == 0x61c;
}

}  // namespace

std::string printable(std::string_view text) {
  const std::string valid = utf8::replace_invalid(text);
  std::string shown;
  for (auto at = valid.begin(); at != valid.end();) {
    const auto begin = at;
    const char32_t point = utf8::unchecked::next(at);
    if (!steers(point)) {
      shown.append(begin, at);
    } else {
      shown += point < 0x100 ? fmt::format("\\x{:02x}", static_cast<std::uint32_t>(point))
                             : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
    }
  }
  return shown;
}

}  // namespace scalebench
