// SPDX-License-Identifier: Apache-2.0
// What cards did while something was timed: readings of their sensors, taken beside it, joined to
// the spans of time that repetitions took. Values in, values out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace scalebench {

/// One look at a card. NaN and empty: it does not say.
struct DeviceReading {
  double seconds = 0;  // of this host's monotonic clock
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  double celsius = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::uint64_t> reasons = {};  // the driver's bits
};

/// A span of time on one card, or the worst of several cards in the same span.
struct DeviceSpell {
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // mean; of cards the slowest
  double watts = std::numeric_limits<double>::quiet_NaN();      // mean
  double celsius = std::numeric_limits<double>::quiet_NaN();    // highest
  std::optional<std::uint64_t> reasons = {};                    // all that were seen
};

/// A repetition is shorter than the pause between two looks, as a rule: without one inside, the
/// nearest counts that is at most this far off, in seconds.
inline constexpr double kReadingHolds = 0.1;

/// `readings` in the order of time. Unknown where none counts.
DeviceSpell spell_of(std::span<const DeviceReading> readings, double begin, double end);

/// The same span on several cards.
DeviceSpell worst_of(std::span<const DeviceSpell> cards);

/// Of a case: its repetitions together. NaN: unknown.
struct DeviceSummary {
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();           // median
  double throttled_share = std::numeric_limits<double>::quiet_NaN();     // of known repetitions
  double power_capped_share = std::numeric_limits<double>::quiet_NaN();  // of known repetitions
  double watts = std::numeric_limits<double>::quiet_NaN();               // mean
  double celsius = std::numeric_limits<double>::quiet_NaN();             // highest
};
DeviceSummary summary_of(std::span<const DeviceSpell> repetitions);

}  // namespace scalebench
