// SPDX-License-Identifier: Apache-2.0
// Looks at one card's clock, energy and throttling beside what is timed on it: a thread that sleeps
// between looks, asks the driver and nothing of CUDA, and stamps what it got. A case has a summary
// of the looks during it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// When something was timed, by this host's monotonic clock.
struct TimeSpan {
  double begin = 0;
  double end = 0;
};

/// NaN and empty: the card does not say.
struct CardLook {
  double seconds = 0;  // of this host's monotonic clock
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();   // the driver's, of one without counter
  double joules = std::numeric_limits<double>::quiet_NaN();  // counted since some moment
  std::optional<std::uint64_t> reasons = {};                 // the driver's bits
};

/// What a card did during a case. NaN: unknown.
struct CardSummary {
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();           // median of the looks
  double throttled_share = std::numeric_limits<double>::quiet_NaN();     // of the looks
  double power_capped_share = std::numeric_limits<double>::quiet_NaN();  // of the looks
  double watts = std::numeric_limits<double>::quiet_NaN();
};

/// Of the looks, in the order of time, those within any of the spans count; without one the nearest
/// that is at most 0.1 s off. The watts are the joules that were counted between looks of one span,
/// over their time, since what the driver calls the power of an Ampere card or a newer one is the
/// mean of the last second, which is longer than most cases. They are unknown where the counter
/// begins again.
CardSummary summary_of(std::span<const CardLook> looks, std::span<const TimeSpan> spans);

/// Of several cards: unknown is what is unknown of one of them.
CardSummary mean_of(std::span<const CardSummary> cards);

/// Of a case file: throttled_share and, as far as it has them, sm_clock_mhz, power_capped_share and
/// gpu_watts. What is unknown stays empty.
void set_card(ResultRow& row, const CardSummary& card);

class DeviceWatch {
 public:
  /// Begins at once; empty `uuid`, or a machine whose driver does not know it: watches nothing.
  /// `library`: the driver's, or one that takes its place in a test.
  explicit DeviceWatch(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  /// What the card did in the `spans`, all of which are over; forgets what lies before the last
  /// look, as later spans come later. Unknown where nothing is watched.
  CardSummary during(std::span<const TimeSpan> spans);

 private:
  struct Looker;
  std::unique_ptr<Looker> looker_;  // null: nothing to watch
};

}  // namespace scalebench
