// SPDX-License-Identifier: Apache-2.0
// Timing a collective operation: first call apart, warm-up until steady, then repetitions that all
// ranks start together and stop together. A repetition's time is the last end minus the first
// start. Construct one CollectiveTimer per program, call measure() per cell.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

// When a case has been repeated often enough: the interval of its median is narrow, or a cap is
// hit. Decides from times and a clock reading that all ranks share, so that all ranks decide alike.

struct StopRule {
  std::size_t fixed = 0;  // this many repetitions; 0: driven by the interval
  std::size_t at_most = 5000;
  double at_most_seconds = 5;
  bool capped = false;   // by at_most_seconds, also where the number is fixed
  double target = 0.01;  // half-width of the 95 % interval relative to the median

  /// 1 % for operations that are dominated by bandwidth or computing, 2.5 % for short messages.
  static StopRule for_bytes(std::size_t bytes);

  struct Decision {
    bool stop = false;
    bool converged = false;
  };
  /// `seconds`: the repetitions so far in measured order. `elapsed`: since the first one began.
  Decision decide(std::span<const double> seconds, double elapsed) const;
};

/// Seconds of one operation: where a repetition holds several, all are divided by their number.
struct Repetition {
  double seconds = 0;       // max(end) - min(start) over ranks
  double skew_seconds = 0;  // max - min of rank_seconds
  double start = 0;         // the first, by the common clock
  double end = 0;           // the last, by the common clock
  int slowest_rank = 0;     // the rank that ended last
  /// By rank: its end minus the first start (StartMode::clock), its own duration (barrier).
  std::vector<float> rank_seconds;
};

/// One rank's part of what is measured.
struct CollectiveOperation {
  std::function<void()> prepare;  // untimed, before each timed region: rotate buffers, say
  std::function<void()> enqueue;  // starts one operation
  std::function<void()> wait;     // returns when all that was enqueued is done
};

struct WarmUpRule {
  int fixed = -1;  // exactly this many operations; -1: until steady
  int at_least = 10;
  double at_least_seconds = 0.2;
  int at_most = 200;  // counted from where both minima are met, which tiny operations do late
  double at_most_seconds = 2;
};

enum class StartMode {
  clock,    // all ranks wait for one instant that rank 0 named
  barrier,  // two barriers before each repetition; the time is the longest local duration
};
std::string_view name_of(StartMode mode);

enum class TimingMode {
  isolated,   // one operation per repetition, or a few in a row when one is too short for the clock
  pipelined,  // many enqueued back to back between one start and one wait, as nccl-tests does
};
std::string_view name_of(TimingMode mode);

struct TimingMethod {
  WarmUpRule warm_up = {};
  StopRule stop = {};
  StartMode start = StartMode::clock;
  TimingMode mode = TimingMode::isolated;
  std::size_t pipeline = 20;  // operations of a pipelined repetition
  /// Where another program is measured beside this one: called by all ranks alike between the parts
  /// of the repetitions, kParts of them unless a cap is hit before. Returns the seconds it waited.
  std::function<double()> next_part = {};
  static constexpr std::size_t kParts = 8;
};

/// The same on all ranks.
struct Timing {
  double first_call_seconds = 0;  // slowest rank
  bool warm = true;               // false: the warm-up's cap was hit before the times were steady
  bool converged = false;
  StartMode start = StartMode::clock;  // barrier also where the clocks could not define a start
  double residual_seconds = 0;         // of the common clock; 0 on one host
  std::size_t operations = 1;          // per repetition
  std::size_t redone = 0;  // repetitions voided because a rank started late, and measured again
  std::vector<Repetition> repetitions;
};

/// What lives across cells: the common clock, how far ahead a common start must be named, and what
/// a pair of clock readings costs.
class CollectiveTimer {
 public:
  /// Collective. `host` carries stamps and decisions, must outlive the timer, and must not be in
  /// use by an operation at the same time.
  explicit CollectiveTimer(Communicator& host);

  /// Collective, with the same method on all ranks. prepare() is called before each operation, and
  /// once before a repetition of several.
  Timing measure(const CollectiveOperation& operation, const TimingMethod& method);

  const GlobalClock& clock() const { return clock_; }

 private:
  Communicator& host_;
  GlobalClock clock_;
  double clock_pair_seconds_ = 0;
  double lead_seconds_ = 0;
};

// How many: operations to a repetition, repetitions to a decision. From values that all ranks
// share, so that all ranks come to the same.

/// Of a repetition: what the clock may take of it, and what it may be wrong by.
constexpr double kClockShare = 0.05;

/// Isolated operations in a row for a pair of clock readings to be a small part of them.
std::size_t operations_to_outlast_clock(double operation_seconds, double clock_pair_seconds);

/// Repetitions until the next decision: a tenth of those `done`, so that deciding on thousands is
/// not done hundreds of times; few where they take long, so that the cap on time is kept.
std::size_t repetitions_to_decision(const StopRule& stop, std::size_t done,
                                    double repetition_seconds);

// The operations before the ones that count: the very first, then groups of ten until two in a row
// take the same time.

/// The same on all ranks.
struct WarmUp {
  double first_call_seconds = 0;  // slowest rank
  double seconds = 0;             // of a warm operation: median of the last group, slowest rank
  bool steady = true;             // false: a cap was hit
};

/// Collective. A fixed warm-up is steady by decree; with none, one more operation is run to tell
/// its time.
WarmUp warm_up(Communicator& host, const CollectiveOperation& operation, const WarmUpRule& rule);

}  // namespace scalebench
