// SPDX-License-Identifier: Apache-2.0
// The columns about cards that rows of several files have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

// What cards did while something was timed: readings of their sensors, taken beside it, joined to
// the spans of time that repetitions took. Values in, values out.

/// One look at a card. NaN and empty: it does not say.
struct DeviceReading {
  double seconds = 0;  // of this host's monotonic clock
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::uint64_t> reasons = {};                 // the driver's bits
  double joules = std::numeric_limits<double>::quiet_NaN();  // counted since some moment
};

/// Fills in the watts of readings that have joules. A card counts in steps of its own, of some 20
/// to 100 ms: between two of them it took the joules that were added, over that time. `readings` in
/// the order of time; unknown before the first step and behind the last. What the driver calls the
/// power of an Ampere card or a newer one is the mean of the last second, which is longer than most
/// cases. Returns the index of the last step, from which on more readings would tell more; 0: none.
std::size_t set_watts(std::span<DeviceReading> readings);

/// A span of time on one card, or the worst of several cards in the same span.
struct DeviceSpell {
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // mean; of cards the slowest
  double watts = std::numeric_limits<double>::quiet_NaN();      // mean
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
};
DeviceSummary summary_of(std::span<const DeviceSpell> repetitions);

/// Of samples.csv: sm_clock_mhz and throttle_reasons. What is unknown stays empty.
void set_spell(ResultRow& sample, const DeviceSpell& spell);

/// Of a case file: sm_clock_mhz, throttled_share, power_capped_share, gpu_watts.
void set_spells(ResultRow& row, std::span<const DeviceSpell> repetitions);

/// The same of several cards, each with its own repetitions, of which a fast one may have more:
/// gpu_watts is the mean of the cards' means, and unknown where one of them is.
void set_spells_of_cards(ResultRow& row, std::span<const std::vector<DeviceSpell>> cards);

// Looks at one card's clock, power and throttling beside what is timed on it: a thread
// that sleeps between looks, asks the driver and nothing of CUDA, and stamps what it got, so that
// the repetitions are joined to it afterwards and never wait for it.

/// When something was timed, by this host's monotonic clock.
struct TimeSpan {
  double begin = 0;
  double end = 0;
};

/// Spans of steps that followed each other without a pause, the last of which ended at `end`.
void append_spans(std::span<const double> seconds, double end, std::vector<TimeSpan>& spans);

class DeviceWatch {
 public:
  /// Begins at once; empty `uuid`, or a machine whose driver does not know it: watches nothing.
  /// `library`: the driver's, or one that takes its place in a test.
  explicit DeviceWatch(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  /// Whether there is something to watch.
  bool sees() const;
  /// What the card did in each of the `spans`, all of which are over; forgets what lies before the
  /// last look, as later spans come later. Empty where nothing is watched.
  std::vector<DeviceSpell> spells(std::span<const TimeSpan> spans);

 private:
  struct Looker;
  std::unique_ptr<Looker> looker_;
};

// What the cards of all ranks did, known to every rank.

/// Collective: each rank's spells, by rank; their numbers may differ.
std::vector<std::vector<DeviceSpell>> all_spells(Communicator& host,
                                                 const std::vector<DeviceSpell>& mine);

/// Collective: the worst of all ranks in each span, which are the same spans on all; a rank that
/// watches nothing brings none. Empty where no rank watches.
std::vector<DeviceSpell> worst_spells(Communicator& host, const std::vector<DeviceSpell>& mine);

}  // namespace scalebench
