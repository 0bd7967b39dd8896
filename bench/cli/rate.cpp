// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/rate.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "kernels/error.hpp"

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
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            std::chars_format::fixed);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    refuse(fmt::format("is not a {}", what));
  }
  const std::string_view name = text.substr(digits.size());
  if (name.empty()) refuse("has no unit");
  for (const Unit& unit : units) {
    if (unit.name == name && std::isfinite(number * unit.factor)) return {number, unit.factor};
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

std::string show_rate(double bits_per_second) {
  for (const Unit& unit : kRateUnits) {
    if (bits_per_second >= unit.factor) {
      return fmt::format("{}{}", bits_per_second / unit.factor, unit.name);
    }
  }
  return fmt::format("{}bit", bits_per_second);
}

}  // namespace scalebench
