// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool stderr_is_a_capable_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
         std::getenv("CI") == nullptr;
}

}  // namespace

Console::Console(bool speaks, bool quiet)
    : speaks_(speaks), quiet_(quiet), terminal_(stderr_is_a_capable_terminal()) {}

void Console::result(std::string_view text) const {
  if (!speaks_) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail("stdout cannot be written");
  }
}

void Console::warn(std::string_view text, std::string_view remedy) {
  if (!speaks_) return;
  clear_progress();
  if (remedy.empty()) {
    fmt::print(stderr, "warning: {}\n", text);
  } else {
    fmt::print(stderr, "warning: {} ({})\n", text, remedy);
  }
}

void Console::progress(std::size_t done, std::size_t total, std::string_view text,
                       double seconds_left) {
  if (!speaks_ || quiet_) return;
  std::string line = fmt::format("[{}/{}] {}", done, total, text);
  if (seconds_left >= 0) line += fmt::format(" · ETA {}", show_duration(seconds_left));
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", line);
    line_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

void Console::clear_progress() {
  if (!line_open_) return;
  fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

void Console::note(std::string_view text) {
  if (!speaks_ || quiet_) return;
  clear_progress();
  fmt::print(stderr, "{}\n", text);
}

std::string show_duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<long>(std::lround(seconds / 60));
  if (minutes < 90) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace scalebench
