// SPDX-License-Identifier: Apache-2.0
// What a night's values say against those of the nights before, as logarithms in which larger is
// better: per cell a prediction interval from a robust baseline, after the shift that all cells of
// a host share; then false-discovery control over all cells and a floor on the effect. What gates,
// what replays earlier nights and what tests itself is one function. Pure values. Method and
// simulation: results/README.md, How a night is judged.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace scalebench {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// One cell and metric over the nights, oldest first. All vectors have one entry a night.
struct GateSeries {
  std::string family;            // cells of one family are about equally noisy
  double floor = 0.03;           // smallest relative change that counts
  bool moves_with_host = true;   // a slow host slows it: times do, ratios of times do not
  std::vector<double> y;         // -ln seconds, or ln efficiency; kNotMeasured: not there
  std::vector<double> rerun;     // the same of the night's rerun
  std::vector<int> segment;      // counts the accepted changes before a night
  double pinned = kNotMeasured;  // of the pinned run, when that is of the last segment
};

struct GateSeriesSet {
  std::vector<GateSeries> cells;
  /// A night: the shift that its rerun shows in cells that were no suspects; kNotMeasured: too few.
  std::vector<double> rerun_shift;

  std::size_t nights() const { return rerun_shift.size(); }
};

/// The nights before `end`, newest first, in which the cell was measured: the last `most` of them,
/// of one segment or of any.
std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t end, std::size_t most,
                                   std::optional<int> segment = std::nullopt);

// What is expected of a night: per cell the median of the last accepted nights since the last
// accepted change, and a robust spread with floors. A spread outlives an accepted change, a level
// does not.

inline constexpr std::size_t kBaselineNights = 20;  // at most
inline constexpr std::size_t kFewestNights = 8;     // below, nothing is tested
inline constexpr std::size_t kFewestOfSegment = 3;  // after an accepted change
inline constexpr double kSpreadFloor = 0.002;
inline constexpr std::size_t kFewestForHost = 10;  // cells that a common shift takes

struct CellBaseline {
  bool enough = false;           // nights for a test
  std::size_t nights = 0;        // of this segment
  double df = 0;                 // nights whose spread is known, less one
  double level = kNotMeasured;   // median
  double spread = kNotMeasured;  // standard deviation of a night: the largest of its own, its
                                 // family's usual one, and kSpreadFloor
  double width = kNotMeasured;   // of a new night around the level: wider, since that is estimated
  double reach = kNotMeasured;   // half a 95 % prediction interval
};

/// The shift that enough cells share, relative to their levels.
struct CommonShift {
  std::size_t cells = 0;  // 0: too few
  double value = 0;       // logarithm; 0 when too few tell
};

using NightBaseline = std::vector<CellBaseline>;  // in the order of the cells

/// From the nights before `night`.
NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night);

/// How all cells together did in night `k`, against the baseline of night `night`.
CommonShift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night,
                         std::size_t k);

// One night against the nights before it.

inline constexpr double kHostAlarm = 0.03;
inline constexpr double kRerunSignificance = 0.01;

enum class Signal { untested, none, worse, better };

/// What the rerun of a suspect said.
enum class Agreement { unknown, agrees, disagrees };

struct CellTest {
  Signal signal = Signal::untested;
  Agreement rerun = Agreement::unknown;
  double change = kNotMeasured;      // relative, positive is better, common shift removed
  double change_low = kNotMeasured;  // 95 %
  double change_high = kNotMeasured;
  double score = kNotMeasured;  // t
  double p_worse = kNotMeasured;
  double p_better = kNotMeasured;
  double q_worse = kNotMeasured;
  double q_better = kNotMeasured;
};

struct NightTest {
  std::vector<CellTest> cells;
  std::size_t shift_cells = 0;  // that tell the common shift; 0: too few, none is removed
  double shift = 0;             // logarithm, negative: the host was slower
  bool host_alarm() const;
};

/// Tests night `night` of all cells; `baseline` is that of this night.
NightTest test_night(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night);

/// For each tested cell the smallest relative drop below its baseline that `test` would have found,
/// the other cells being as they are: what is applied, turned round, the discovery threshold
/// included. Positive.
std::vector<double> smallest_drops(const GateSeriesSet& set, const NightBaseline& baseline,
                                   const NightTest& test);

// The gate's nightly proof: each tested cell in turn is made 10 % slower than it was tonight, and
// the same test must find it.

inline constexpr double kInjectedChange = -0.10;

struct InjectedCheck {
  std::size_t tested = 0;
  std::size_t caught = 0;
  std::vector<std::size_t> blind;   // cells whose injected drop was not found
  std::vector<std::size_t> broken;  // of those, where the stated smallest drop promised it

  /// Whether the gate can be believed: it keeps what it promises, and some cell shows the drop.
  /// True when nothing was tested.
  bool passed() const { return tested == 0 || (caught > 0 && broken.empty()); }
};

/// `drops`: as smallest_drops() gives them. A drop is promised where tonight's value, lowered, lies
/// below the stated smallest drop: a cell that noise has lifted tonight has that much left to fall.
/// Above 1000 tested cells a sample of them, evenly spaced, is tried.
InjectedCheck inject(GateSeriesSet set, const NightBaseline& baseline, const NightTest& test,
                     const std::vector<double>& drops, std::size_t night);

// A change too small or too slow for one night: where, among the last nights, would two levels fit
// better than one? Two-sample t with pooled variance for every place of the step.

inline constexpr std::size_t kDriftNights = 40;
inline constexpr std::size_t kDriftSide = 3;    // fewest nights after the step
inline constexpr std::size_t kDriftBefore = 5;  // and before it
inline constexpr double kDriftSignificance = 1e-6;
inline constexpr double kDriftFloor = 0.02;

struct Drift {
  bool found = false;
  double change = kNotMeasured;  // relative, negative is worse; of the clearest step for the worse
  std::size_t since = 0;         // the first night after it
};

/// The last nights of one cell up to `night`, of its segment; `shift` is removed from each night.
Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift);

/// What all cells of the host share in each night, relative to their own medians over the nights;
/// 0 for nights in which too few tell.
std::vector<double> host_series(const GateSeriesSet& set, std::size_t night);

}  // namespace scalebench
