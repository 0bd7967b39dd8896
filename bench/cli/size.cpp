// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/size.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
constexpr std::uint64_t kLargest = std::uint64_t{1} << 62U;

/// Bits to shift for a unit; 0 for none, -1 for an unknown one.
int shift_of(std::string_view unit) {
  if (unit.empty()) return 0;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (unit == kUnits[i] || unit == kUnits[i].substr(0, 1)) return static_cast<int>(10 * (i + 1));
  }
  return -1;
}

}  // namespace

std::size_t parse_size(std::string_view option, std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    fail<UsageError>("{}: '{}' {}; valid: {}", option, text, why, kSizeRule);
  };
  if (text.starts_with('-')) refuse("is negative");
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string_view number = text.substr(0, digits);
  const std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  if (number.empty()) refuse("is not a size");
  if (unit.starts_with('e') || unit.starts_with('E') || unit.starts_with('.')) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) refuse("is too large");
    if (error != std::errc() || end != text.data() + text.size()) refuse("is not a size");
    if (value > static_cast<double>(kLargest)) refuse("is too large");
    if (value != std::floor(value)) refuse("is not a whole number of bytes");
    return static_cast<std::size_t>(value);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc()) refuse("is too large");
  const int shift = shift_of(unit);
  if (shift < 0 && (unit == "MB" || unit == "GB" || unit == "KB" || unit == "kB" || unit == "TB")) {
    refuse("could be 10^3 or 2^10 steps");
  }
  if (shift < 0) refuse("has an unknown unit");
  if (value > kLargest >> static_cast<unsigned>(shift)) refuse("is too large");
  return value << static_cast<unsigned>(shift);
}

std::string show_size(std::size_t bytes) {
  for (std::size_t i = kUnits.size(); i > 0; --i) {
    const std::size_t unit = std::size_t{1} << (10 * i);
    if (bytes >= unit && bytes % unit == 0)
      return fmt::format("{} {}", bytes / unit, kUnits[i - 1]);
  }
  return fmt::format("{} B", bytes);
}

}  // namespace scalebench
