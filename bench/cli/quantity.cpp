// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 5> kRateUnits{
    {{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};
// A divisor, so that 50us is exactly 50 / 1e6, the double nearest to it.
constexpr std::array<Unit, 4> kDurationUnits{{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}};

struct Quantity {
  double number;
  double factor;
};

/// A plain decimal number and directly after it one of `units`.
Quantity quantity_of(std::string_view text, std::span<const Unit> units, std::string_view what,
                     std::string_view rule) {
  const auto refuse = [&](std::string_view why) {
    fail<UsageError>("'{}' {}; valid: {}", text, why, rule);
  };
  if (text.starts_with('-')) refuse("is negative");
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
  const auto number = read_number<double>(digits);
  if (!number) refuse(fmt::format("is not a {}", what));
  const std::string_view name = text.substr(digits.size());
  if (name.empty()) refuse("has no unit");
  for (const Unit& unit : units) {
    if (unit.name == name && std::isfinite(*number * unit.factor)) return {*number, unit.factor};
  }
  refuse("has an unknown unit");
  return {};
}

}  // namespace

double parse_rate(std::string_view text) {
  const Quantity quantity = quantity_of(text, kRateUnits, "rate", kRateRule);
  if (quantity.number == 0) fail<UsageError>("'{}' is no rate at all; valid: {}", text, kRateRule);
  return quantity.number * quantity.factor;
}

double parse_duration(std::string_view text) {
  const Quantity quantity = quantity_of(text, kDurationUnits, "duration", kDurationRule);
  return quantity.number / quantity.factor;
}

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

/// MB and the like, which mean two things: says how to write each. Throws UsageError for them.
void refuse_decimal(std::string_view option, std::string_view text, std::uint64_t number,
                    std::string_view unit) {
  constexpr std::string_view kLetters = "KMGT";
  if (unit.size() != 2 || unit[1] != 'B') return;
  const std::size_t place = kLetters.find(unit[0] == 'k' ? 'K' : unit[0]);
  if (place == std::string_view::npos) return;
  const std::size_t bits = 10 * (place + 1);
  if (number > kLargest >> bits) return;
  fail<UsageError>("{}: '{}' means two things; write {}{} ({}) or {}e{}", option, text, number,
                   kUnits[place], number << bits, number, 3 * (place + 1));
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
  const auto value = read_number<std::uint64_t>(number);
  if (!value) refuse("is too large");
  const int shift = shift_of(unit);
  if (shift < 0) refuse_decimal(option, text, *value, unit);
  if (shift < 0) refuse("has an unknown unit");
  if (*value > kLargest >> static_cast<unsigned>(shift)) refuse("is too large");
  return *value << static_cast<unsigned>(shift);
}

std::string show_size(std::size_t bytes) {
  for (std::size_t i = kUnits.size(); i > 0; --i) {
    const std::size_t unit = std::size_t{1} << (10 * i);
    if (bytes >= unit && bytes % unit == 0)
      return fmt::format("{} {}", bytes / unit, kUnits[i - 1]);
  }
  return fmt::format("{} B", bytes);
}

namespace {

/// `value` and the ends of its interval over `unit`, with the decimals that three digits of the
/// value need, but at least `fewest` of them.
std::string in_unit(double value, double low, double high, double unit, int fewest,
                    std::string_view name) {
  const double shown = std::abs(value) / unit;
  const int needed = shown > 0 ? 2 - static_cast<int>(std::floor(std::log10(shown))) : 0;
  const int digits = std::clamp(needed, fewest, 9);
  std::string text = fmt::format("{:.{}f}{}", value / unit, digits, name);
  if (std::isnan(low) || std::isnan(high)) return text;
  return text + fmt::format(" [{:.{}f}, {:.{}f}]", low / unit, digits, high / unit, digits);
}

struct TimeUnit {
  double from = 0;  // times from here on are shown in it
  double seconds = 1;
  std::string_view name;
};
constexpr std::array kTimeUnits{TimeUnit{7200, 3600, " h"}, TimeUnit{120, 60, " min"},
                                TimeUnit{1, 1, " s"}, TimeUnit{1e-3, 1e-3, " ms"}};

}  // namespace

std::string show_time(double seconds, double low, double high) {
  if (std::isnan(seconds)) return "-";
  for (const TimeUnit& unit : kTimeUnits) {
    if (seconds >= unit.from) return in_unit(seconds, low, high, unit.seconds, 0, unit.name);
  }
  return in_unit(seconds, low, high, 1e-6, 0, " us");
}

std::string show_usd(double usd, double low, double high) {
  if (std::isnan(usd)) return "-";
  const bool cents = usd >= 1 && usd < 100;
  return in_unit(usd, low, high, 1, cents ? 2 : 0, "");
}

}  // namespace scalebench
