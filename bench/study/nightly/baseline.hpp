// SPDX-License-Identifier: Apache-2.0
// What is expected of a night, out of the nights before it, as logarithms in which larger is
// better: per cell a level and a robust spread that borrows from the cell's family, with fewer
// effective nights where each resembles the one before; the shift that all cells share; and drifts.
// Pure values. Method and simulation: docs/gate.md.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace scalebench {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// What the rounds of one night said of one cell beside the accepted build.
struct BesideRounds {
  std::vector<double> sweep;  // -ln(seconds of today's build / the accepted one's); NaN: not both
  std::vector<double> rerun;  // the same of the night's rerun
};

/// One cell and metric over the nights, oldest first. All vectors have one entry a night.
struct GateSeries {
  std::string family;                // cells of one family are about equally noisy
  double floor = 0.03;               // smallest relative change that counts
  bool moves_with_host = true;       // a slow host slows it: times do, ratios of times do not
  std::vector<double> y;             // -ln seconds, or ln efficiency; kNotMeasured: not there
  std::vector<double> rerun;         // the same of the night's rerun
  std::vector<int> segment;          // counts the accepted changes before a night
  std::vector<bool> kept_out;        // no baseline: a regression was open, or the host had shifted
  std::vector<BesideRounds> beside;  // no rounds: no accepted build ran beside it
  std::vector<int> build;            // segment of the accepted build that ran beside it
  double pinned = kNotMeasured;      // of the pinned run, when that is of the last segment
  double launch_spread = kNotMeasured;  // standard deviation of a launch within the last night
  std::size_t launches = 0;             // of the last night
};

struct GateSeriesSet {
  std::vector<GateSeries> cells;
  std::size_t nights = 0;
  /// By night, of the accepted build that ran beside it: which one (from 1; 0: none), and the first
  /// night that began after the run of that build which was accepted.
  std::vector<std::size_t> build, build_from;

  /// With room for `nights` nights in which nothing was measured.
  GateSeries& add_cell();
  explicit GateSeriesSet(std::size_t nights = 0);
};

/// The nights before `end`, newest first, in which the cell was measured and which may be baseline:
/// the last `most` of them, of one segment or of any.
std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t end, std::size_t most,
                                   std::optional<int> segment = std::nullopt);

// Values that resemble the one before: an autoregressive process of first order, with correlation
// phi from one to the next.

/// As many independent values as say as much about the mean as `n` of these.
double effective_count(std::size_t n, double phi);

/// phi of values in order, around their own median, with the bias of short series taken out
/// (Marriott and Pope, Biometrika 41 (1954) 390). Between 0 and 0.9; 0 for fewer than 6.
double correlation_of(const std::vector<double>& values);

// Spreads.

struct Spread {
  std::string family;
  double value = kNotMeasured;  // standard deviation
  double df = 0;                // degrees of freedom with which it is known
};

/// A standard deviation that does not mind wild values, up to half of them, and needs no middle:
/// the first quartile of all distances between two (Qn of Rousseeuw, Croux, J. Am. Stat. Assoc. 88
/// (1993) 1273), with their factors for few values. NaN for fewer than two.
double robust_spread(const std::vector<double>& values);

/// Draws every spread above its family's usual one towards that by as much as chance alone would
/// scatter so many cells, and raises the others to it. As empirical Bayes does for variances
/// (Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004) 3), but on logarithms of robust spreads.
void borrow_from_families(std::vector<Spread>& spreads);

inline constexpr std::size_t kBaselineNights = 20;  // at most
inline constexpr std::size_t kFewestNights = 8;     // below, nothing is tested
inline constexpr double kSpreadFloor = 0.002;
inline constexpr std::size_t kFewestForHost = 10;  // cells that a common shift takes

struct CellBaseline {
  bool enough = false;           // nights for a test
  std::size_t nights = 0;        // of this segment
  double df = 0;                 // of the spread
  double level = kNotMeasured;   // median
  double phi = 0;                // correlation of a night with the one before
  bool of_family = false;        // phi: of so many cells that a step in one does not count
  double spread = kNotMeasured;  // standard deviation of a night
  double width = kNotMeasured;   // of a new night around the level: wider, since that is estimated
};

/// A change that cells share, as a logarithm; negative: slower.
struct Shift {
  std::size_t cells = 0;  // that tell it; 0: too few, and nothing is known
  double value = 0;
  double width = kNotMeasured;  // standard deviation of its estimate
  double df = 1;
  double low = kNotMeasured;  // 95 %
  double high = kNotMeasured;
  double p_value = kNotMeasured;  // two-sided

  /// Whether it is there and over kHostAlarm, or clearly there and perhaps over it.
  bool alarm() const;
  /// So clearly that it stays an alarm until it is clearly gone.
  bool clear() const;
};
inline constexpr double kHostAlarm = 0.03;

/// With `value` and its spread, interval and p.
Shift shift_with(std::size_t cells, double value, double width, double df);

struct NightBaseline {
  std::vector<CellBaseline> cells;  // in the order of the set's
  std::vector<double> shifts;       // of the nights before; kNotMeasured: too few cells tell

  const CellBaseline& operator[](std::size_t c) const { return cells[c]; }
  double shift(std::size_t k) const;  // 0 where it is not known
};

/// From the nights before `night`: per cell the median of the last ones since the last accepted
/// change, and a spread. A spread outlives an accepted change, a level does not: one night of the
/// new level is enough to be held against.
NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night);

/// What all cells together did in `night`, beside how that differs between nights.
Shift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night);

// A change too small or too slow for one night: where, among the last nights, would two levels fit
// better than one? Generalised least squares for every place of the step, since nights resemble
// each other.

inline constexpr std::size_t kDriftNights = 40;
inline constexpr std::size_t kDriftSide = 3;    // fewest nights after the step
inline constexpr std::size_t kDriftBefore = 5;  // and before it
inline constexpr double kDriftSignificance = 1e-6;
inline constexpr double kDriftFloor = 0.02;

struct Drift {
  bool found = false;
  double change = kNotMeasured;  // relative, negative is worse; of the clearest step for the worse
  std::size_t since = 0;         // the first night after it
  std::size_t earliest = 0;      // the first at which the step may as well lie
};

/// The last nights of one cell up to `night`, of its segment; `shift` is removed from each night
/// where it is known.
/// `phi`: how much a night resembles the one before; none: by what this series shows beside its
/// clearest step.
Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift,
               std::optional<double> phi);

/// What all cells share in each night, relative to their own medians over the nights; kNotMeasured
/// for nights in which too few tell.
std::vector<double> host_series(const GateSeriesSet& set, std::size_t night);

}  // namespace scalebench
