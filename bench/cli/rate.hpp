// SPDX-License-Identifier: Apache-2.0
// Rates of a link and durations as people type them: 1gbit, 100mbit, 50us. Decimal, as tc and the
// makers of networks count: 1gbit = 10^9 bits per second. A rate without a unit could be bits or
// bytes, so it is refused, and so are MB/s and the like.
#pragma once

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

/// "2.5gbit", "100mbit": a text that parse_rate reads as that rate.
std::string show_rate(double bits_per_second);

}  // namespace scalebench
