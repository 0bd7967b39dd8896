// SPDX-License-Identifier: Apache-2.0
// Rates of a link and durations as people type them: 1gbit, 100mbit, 50us. Decimal, as tc and the
// makers of networks count: 1gbit = 10^9 bits per second. A rate without a unit could be bits or
// bytes, so it is refused, and so are MB/s and the like.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace scalebench {

inline constexpr std::string_view kRateRule =
    "a rate in bits per second as 100mbit, 1gbit, 2.5gbit";
inline constexpr std::string_view kDurationRule = "a duration as 50us, 0.5ms, 2s";

/// Bits per second, > 0. Units: bit, kbit, mbit, gbit, tbit. Throws UsageError for all else.
double parse_rate(std::string_view text);

/// Seconds, >= 0. Units: ns, us, ms, s. Throws UsageError for all else.
double parse_duration(std::string_view text);

// Sizes in bytes as people type them. The rule: a number, also in scientific notation (1e6,
// decimal), alone or with K M G T (binary, as in nccl-tests) or KiB MiB GiB TiB (binary), that
// makes a whole number of bytes. MB and the like mean two things and are refused.

inline constexpr std::string_view kSizeRule =
    "bytes as 8, 64K, 64KiB, 1M, 1GiB (binary) or 1e6 (decimal)";

/// Throws UsageError, naming `option`, for anything else, negative numbers, and from 2^53 on.
std::size_t parse_size(std::string_view option, std::string_view text);

/// "8", "64 KiB", "1 MiB": exact, with the largest binary unit that divides it.
std::string show_size(std::size_t bytes);

// A number of a result row as a person reads it.

/// "12.3 us", "4.57 ms", "28.2 s", "16.6 min", "8.50 h"; with the ends of an interval, where both
/// are known, "28.2 s [28.1, 28.3]". "-" for NaN.
std::string show_time(double seconds, double low = std::nan(""), double high = std::nan(""));

/// US dollars without the unit: "345", "12.24", "0.0975"; as show_time.
std::string show_usd(double usd, double low = std::nan(""), double high = std::nan(""));

/// The cell times `factor` with `digits` decimals; "-" for an empty cell.
inline std::string scaled(const std::string& cell, double factor, int digits) {
  return cell.empty() ? "-" : fmt::format("{:.{}f}", std::stod(cell) * factor, digits);
}

/// A share as "12.3 %".
inline std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
inline std::string percent(const std::string& cell) {
  return cell.empty() ? "-" : percent(std::stod(cell));
}

/// A p-value; one that would round to nothing is named by its bound.
inline std::string show_p(const std::string& cell) {
  return !cell.empty() && std::stod(cell) < 0.001 ? "<0.001" : scaled(cell, 1, 3);
}

/// "2.31 [2.28, 2.35]", each times `factor`; without the bracket where there is no interval.
inline std::string with_interval(const std::string& value, const std::string& low,
                                 const std::string& high, double factor, int digits) {
  std::string text = scaled(value, factor, digits);
  if (low.empty()) return text;
  return fmt::format("{} [{}, {}]", text, scaled(low, factor, digits),
                     scaled(high, factor, digits));
}

}  // namespace scalebench
