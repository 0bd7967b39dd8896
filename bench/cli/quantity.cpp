// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

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
constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;
constexpr std::array<Unit, 9> kSizeUnits{{{"TiB", kTi},
                                          {"GiB", kGi},
                                          {"MiB", kMi},
                                          {"KiB", kKi},
                                          {"T", kTi},
                                          {"G", kGi},
                                          {"M", kMi},
                                          {"K", kKi},
                                          {"", 1}}};

/// What is typed: a number and directly after it one of its units.
struct Kind {
  std::string_view name;
  std::span<const Unit> units;
  std::string_view rule;
};
constexpr Kind kRate{"rate", kRateUnits, kRateRule};
constexpr Kind kDuration{"duration", kDurationUnits, kDurationRule};
constexpr Kind kSize{"size", kSizeUnits, kSizeRule};

/// `option`: the message begins with it; empty: none.
[[noreturn]] void refuse(const Kind& kind, std::string_view option, std::string_view text,
                         std::string_view why) {
  fail<UsageError>("{}{}'{}' {}; valid: {}", option, option.empty() ? "" : ": ", text, why,
                   kind.rule);
}

struct Quantity {
  double number = 0;
  double factor = 1;
};

Quantity quantity_of(const Kind& kind, std::string_view text, std::string_view option = "") {
  if (text.starts_with('-')) refuse(kind, option, text, "is negative");
  Quantity quantity;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error == std::errc::result_out_of_range) refuse(kind, option, text, "is too large");
  // "nan" and "inf" are numbers to the library.
  if (error != std::errc() || !std::isfinite(quantity.number)) {
    refuse(kind, option, text, fmt::format("is not a {}", kind.name));
  }
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::ranges::find(kind.units, name, &Unit::name);
  if (unit == kind.units.end()) {
    refuse(kind, option, text, name.empty() ? "has no unit" : "has an unknown unit");
  }
  quantity.factor = unit->factor;
  if (!std::isfinite(quantity.number * quantity.factor)) {
    refuse(kind, option, text, "is too large");
  }
  return quantity;
}

}  // namespace

double parse_rate(std::string_view text) {
  const Quantity quantity = quantity_of(kRate, text);
  if (quantity.number == 0) refuse(kRate, "", text, "is no rate at all");
  return quantity.number * quantity.factor;
}

double parse_duration(std::string_view text) {
  const Quantity quantity = quantity_of(kDuration, text);
  return quantity.number / quantity.factor;
}

std::size_t parse_size(std::string_view option, std::string_view text) {
  constexpr double kTooLarge =
      8192 * kTi;  // 2^53, from which on not every whole number is a double
  const Quantity quantity = quantity_of(kSize, text, option);
  const double bytes = quantity.number * quantity.factor;
  if (bytes >= kTooLarge) refuse(kSize, option, text, "is too large");
  if (bytes != std::floor(bytes)) refuse(kSize, option, text, "is not a whole number of bytes");
  return static_cast<std::size_t>(bytes);
}

std::string show_size(std::size_t bytes) {
  for (const Unit& unit : std::span(kSizeUnits).first<4>()) {
    const auto factor = static_cast<std::size_t>(unit.factor);
    if (bytes >= factor && bytes % factor == 0) {
      return fmt::format("{} {}", bytes / factor, unit.name);
    }
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
