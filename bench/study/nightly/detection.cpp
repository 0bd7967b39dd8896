// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/detection.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/measure/multiple_testing.hpp"
#include "bench/measure/two_sides.hpp"
#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

std::vector<double> known_of(const std::vector<double>& values) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double v) { return v == v; });
  return known;
}

/// Of a location of `n` values: the variance of a median of pairwise means is pi/3 of the mean's.
double location_width(double spread, std::size_t n) {
  return spread * std::sqrt(std::numbers::pi / 3 / static_cast<double>(n));
}

/// A cell's rounds beside the accepted build.
struct Beside {
  double value = kNotMeasured;
  double spread = kNotMeasured;  // of one round
  double df = 1;
  std::size_t rounds = 0;

  bool known() const { return rounds > 0; }
  double width() const { return location_width(spread, rounds); }
};

/// Of every cell in night `k`; spreads borrow from families.
std::vector<Beside> beside_in(const GateSeriesSet& set, std::size_t k) {
  std::vector<Beside> found(set.cells.size());
  std::vector<Spread> spreads;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const std::vector<double> rounds = known_of(set.cells[c].beside[k].sweep);
    if (rounds.size() < kFewestRounds) continue;
    found[c].rounds = rounds.size();
    found[c].value = median_of(pairwise_means(rounds));
    spreads.push_back({set.cells[c].family, std::max(robust_spread(rounds), kSpreadFloor),
                       static_cast<double>(rounds.size() - 1)});
  }
  borrow_from_families(spreads);
  auto spread = spreads.begin();
  for (Beside& cell : found) {
    if (!cell.known()) continue;
    cell.spread = spread->value;
    cell.df = spread->df;
    ++spread;
  }
  return found;
}

/// What all cells did together beside the accepted build: by the median over cells of each round,
/// so that what the cells of a round share is in the spread.
Shift suite_shift(const GateSeriesSet& set, const std::vector<Beside>& beside, std::size_t k) {
  std::vector<double> widths, values;
  std::size_t most = 0;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    // An efficiency is made of two times, and tells nothing that they do not.
    if (!beside[c].known() || !set.cells[c].moves_with_host) continue;
    most = std::max(most, set.cells[c].beside[k].sweep.size());
    widths.push_back(beside[c].width());
    values.push_back(beside[c].value);
  }
  if (values.size() < kFewestForHost) return {};
  std::vector<double> rounds;
  for (std::size_t r = 0; r < most; ++r) {
    std::vector<double> cells;
    for (std::size_t c = 0; c < set.cells.size(); ++c) {
      const std::vector<double>& its = set.cells[c].beside[k].sweep;
      const bool there = beside[c].known() && set.cells[c].moves_with_host && r < its.size();
      if (there && its[r] == its[r]) cells.push_back(its[r]);
    }
    if (cells.size() >= kFewestForHost) rounds.push_back(median_of(cells));
  }
  if (rounds.size() < kFewestRounds) return {};
  const double middle = median_of(values);
  double squares = 0;
  for (const double round : rounds) squares += (round - middle) * (round - middle);
  const auto n = static_cast<double>(rounds.size());
  const double of_rounds = std::sqrt(squares / (n - 1) / n);
  const double of_cells =
      std::sqrt(std::numbers::pi / 2 / static_cast<double>(values.size())) * median_of(widths);
  return shift_with(values.size(), middle, std::max(of_rounds, of_cells), n - 1);
}

/// What of a change beside the accepted build was accepted since that was built: what the nights of
/// the cell's new level showed beside the same build; its width is in widths of tonight's. Not
/// known: it cannot be told.
Estimate accepted_part(const GateSeriesSet& set, std::size_t c, std::size_t night) {
  const GateSeries& cell = set.cells[c];
  if (cell.build[night] == cell.segment[night]) return {0, 0, 1};
  std::vector<double> values;
  for (std::size_t k = 0; k < night; ++k) {
    const std::vector<double> rounds = known_of(cell.beside[k].sweep);
    const bool same = set.build[k] == set.build[night] && cell.segment[k] == cell.segment[night];
    if (same && rounds.size() >= kFewestRounds) values.push_back(median_of(pairwise_means(rounds)));
  }
  if (values.empty()) return {};
  return {median_of(values), std::sqrt(std::numbers::pi / 2 / static_cast<double>(values.size())),
          1};
}

/// All that judges one night's cells, whichever way each is judged.
class Judge {
 public:
  Judge(const GateSeriesSet& set, const NightBaseline& baseline, const Shift& host,
        std::size_t night)
      : set_(set), baseline_(baseline), host_(host), night_(night) {}

  NightTest test() {
    const std::vector<Beside> beside = beside_in(set_, night_);
    test_.suite = suite_shift(set_, beside, night_);
    test_.common = host_;
    for (std::size_t c = 0; c < set_.cells.size(); ++c) test_.cells.push_back(measured(c, beside));
    decide();
    test_.rerun_shift = rerun_shift();
    for (std::size_t c = 0; c < set_.cells.size(); ++c) {
      CellTest& cell = test_.cells[c];
      if (cell.signal == Signal::worse && cell.rounds == 0) cell.rerun = agreement(c);
    }
    judge_rounds_again();
    return std::move(test_);
  }

 private:
  CellTest measured(std::size_t c, const std::vector<Beside>& beside) {
    const GateSeries& cell = set_.cells[c];
    CellTest test;
    const Estimate accepted = beside[c].known() ? accepted_part(set_, c, night_) : Estimate{};
    // A regression older than the accepted build does not show beside it.
    const bool hidden = cell.kept_out[night_] && set_.build_from[night_] > open_since(c);
    if (accepted.known() && !hidden) {
      test.rounds = beside[c].rounds;
      test.spread = beside[c].spread;
      test.estimate = {beside[c].value - accepted.value,
                       beside[c].width() * std::sqrt(1 + accepted.width * accepted.width),
                       beside[c].df};
    } else if (baseline_[c].enough && !std::isnan(cell.y[night_])) {
      test.spread = baseline_[c].spread;
      test.estimate = against_history(c, cell.y[night_], host_.value);
    }
    if (!test.estimate.known()) return test;
    test.signal = Signal::none;
    set_change(test, test.estimate);
    const double df = test.estimate.df;
    test.score = test.estimate.value / test.estimate.width;
    if (test.rounds == 0 && host_.alarm()) {
      test.signal = Signal::shifted;
    } else if (!cell.kept_out[night_]) {
      test.p_better = student_t_tail(test.score, df);
      test.p_worse = student_t_tail(-test.score, df);
    }
    return test;
  }

  static void set_change(CellTest& test, const Estimate& of) {
    const double reach = student_t_quantile(0.025, of.df) * of.width;
    test.change = std::expm1(of.value);
    test.change_low = std::expm1(of.value - reach);
    test.change_high = std::expm1(of.value + reach);
  }

  /// The first of the nights that are kept out up to tonight.
  std::size_t open_since(std::size_t c) const {
    std::size_t since = night_;
    while (since > 0 && set_.cells[c].kept_out[since - 1]) --since;
    return since;
  }

  Estimate against_history(std::size_t c, double y, double shift) const {
    const CellBaseline& its = baseline_[c];
    return {y - its.level - (set_.cells[c].moves_with_host ? shift : 0), its.width, its.df};
  }

  void decide() {
    std::vector<double> worse, better;
    for (const CellTest& cell : test_.cells) {
      worse.push_back(cell.p_worse);
      better.push_back(cell.p_better);
    }
    const std::vector<double> q_worse = benjamini_hochberg(worse);
    const std::vector<double> q_better = benjamini_hochberg(better);
    for (std::size_t c = 0; c < test_.cells.size(); ++c) {
      CellTest& cell = test_.cells[c];
      if (std::isnan(cell.p_worse)) continue;
      cell.q_worse = q_worse[c];
      cell.q_better = q_better[c];
      const double floor = set_.cells[c].floor;
      if (cell.q_worse <= kFalseDiscoveryRate && cell.change <= -floor) {
        cell.signal = Signal::worse;
      } else if (cell.q_better <= kFalseDiscoveryRate && cell.change >= floor) {
        cell.signal = Signal::better;
      }
      cell.doubtful = cell.signal != Signal::worse && cell.rounds > 0 &&
                      cell.p_worse <= kSuspicion && cell.change <= -kSuspectShare * floor;
    }
  }

  /// The shift of the cells during the rerun, from those that were no suspects; kNotMeasured when
  /// too few tell.
  double rerun_shift() const {
    std::vector<double> shifts;
    for (std::size_t c = 0; c < set_.cells.size(); ++c) {
      const GateSeries& cell = set_.cells[c];
      const bool control = cell.moves_with_host && baseline_[c].enough &&
                           test_.cells[c].signal != Signal::worse && !cell.kept_out[night_] &&
                           !std::isnan(cell.rerun[night_]);
      if (control) shifts.push_back(cell.rerun[night_] - baseline_[c].level);
    }
    const double shift = median_of(shifts);
    if (shifts.size() >= kFewestForHost) return shift;
    // A few controls are too noisy to correct by, but can tell that the machine was another one.
    const bool clear = shifts.size() >= 2 && std::abs(std::expm1(shift)) > kHostAlarm;
    return clear ? shift : kNotMeasured;
  }

  bool shows(std::size_t c, const Estimate& again) const {
    return p_worse_of(again) < kRerunSignificance &&
           std::expm1(again.value) <= -set_.cells[c].floor;
  }

  static double p_worse_of(const Estimate& of) {
    return student_t_tail(-of.value / of.width, of.df);
  }

  /// Suspects beside the accepted build, by the rounds of sweep and rerun together: all that were
  /// tested are the tests among which they are discoveries.
  void judge_rounds_again() {
    std::vector<double> p_both;
    std::vector<Estimate> both(set_.cells.size());
    for (std::size_t c = 0; c < set_.cells.size(); ++c) {
      const CellTest& cell = test_.cells[c];
      p_both.push_back(std::isnan(cell.p_worse) ? kNotMeasured : 1);
      const std::vector<double> again = known_of(set_.cells[c].beside[night_].rerun);
      const bool asked = cell.is_suspect() && cell.rounds > 0;
      if (!asked || again.size() < kFewestRounds) continue;
      std::vector<double> all = known_of(set_.cells[c].beside[night_].sweep);
      all.insert(all.end(), again.begin(), again.end());
      both[c] = of_rounds(c, all, again);
      if (p_worse_of(of_rounds(c, again, again)) < kRerunAlone) p_both[c] = p_worse_of(both[c]);
    }
    const std::vector<double> q_both = benjamini_hochberg(p_both);
    for (std::size_t c = 0; c < set_.cells.size(); ++c) {
      if (!both[c].known()) continue;
      CellTest& cell = test_.cells[c];
      const bool again =
          q_both[c] <= kRerunSignificance && std::expm1(both[c].value) <= -set_.cells[c].floor;
      cell.rerun = again ? Agreement::agrees : Agreement::disagrees;
      if (!again) continue;
      cell.signal = Signal::worse;
      set_change(cell, both[c]);
    }
  }

  /// What `rounds` of a cell say, the spread of one being that of the sweep and of `again`.
  Estimate of_rounds(std::size_t c, const std::vector<double>& rounds,
                     const std::vector<double>& again) const {
    const CellTest& test = test_.cells[c];
    const Estimate accepted = accepted_part(set_, c, night_);
    const double width = location_width(spread_with(test, again), rounds.size());
    return {median_of(pairwise_means(rounds)) - accepted.value,
            width * std::sqrt(1 + accepted.width * accepted.width),
            test.estimate.df + static_cast<double>(again.size() - 1)};
  }

  /// Of a cell that is judged by the nights before.
  Agreement agreement(std::size_t c) const {
    const auto said = [](bool yes) { return yes ? Agreement::agrees : Agreement::disagrees; };
    const double y = set_.cells[c].rerun[night_];
    if (std::isnan(y)) return Agreement::unknown;
    const double moved = test_.rerun_shift;
    const bool as_is = shows(c, against_history(c, y, host_.value));
    if (std::isnan(moved)) return said(as_is);
    const bool corrected = shows(c, against_history(c, y, moved));
    const bool other_state = std::abs(std::expm1(moved - host_.value)) > kHostAlarm;
    return other_state && corrected != as_is ? Agreement::discarded : said(corrected);
  }

  /// Of a round, from sweep and rerun together.
  static double spread_with(const CellTest& test, const std::vector<double>& rounds) {
    const double own = robust_spread(rounds);
    const auto n = static_cast<double>(rounds.size() - 1);
    const double df = test.estimate.df;
    return std::sqrt((df * test.spread * test.spread + n * own * own) / (df + n));
  }

  const GateSeriesSet& set_;
  const NightBaseline& baseline_;
  const Shift& host_;
  std::size_t night_;
  NightTest test_;
};

}  // namespace

NightTest test_night(const GateSeriesSet& set, const NightBaseline& baseline, const Shift& host,
                     std::size_t night) {
  return Judge(set, baseline, host, night).test();
}

namespace {

/// What a drop has to pass, and how surely it does.
struct Hurdle {
  double threshold = 0;
  double width = 0;
  double df = 1;
  double power(double drop) const { return student_t_tail((threshold - drop) / width, df); }
};

/// To be found, and to be found again. Both are taken to be independent: where a night's luck is in
/// both, or the rounds of one are among those of the other, they agree more often.
struct Hurdles {
  Hurdle first, again;
  double power(double drop) const { return first.power(drop) * again.power(drop); }
};

Hurdles hurdles_of(const CellTest& test, double limit, double floor, double width) {
  const double least = -std::log1p(-floor), df = test.estimate.df;
  const auto hurdle = [](double p, double at_least, double w, double freedom) {
    return Hurdle{std::max(student_t_quantile(p, freedom) * w, at_least), w, freedom};
  };
  if (test.rounds == 0) {
    return {hurdle(limit, least, width, df), hurdle(kRerunSignificance, least, width, df)};
  }
  const double of_both = width / std::numbers::sqrt2;
  const double limit_of_both = limit * kRerunSignificance / kFalseDiscoveryRate;
  return {hurdle(std::max(limit, kSuspicion), -std::log1p(-kSuspectShare * floor), width, df),
          hurdle(limit_of_both, least, of_both, df + static_cast<double>(test.rounds - 1))};
}

/// The relative drop that is found, and found again, with kNightPower.
double found_with_power(const Hurdles& hurdles) {
  double low = 0, high = std::max(hurdles.first.threshold, hurdles.again.threshold) +
                         60 * hurdles.first.width;
  for (int i = 0; i < 40; ++i) {
    const double drop = (low + high) / 2;
    (hurdles.power(drop) < kNightPower ? low : high) = drop;
  }
  return -std::expm1(-high);
}

/// `width` with `launches` in place of as many as there were; of a cell that is judged by history
/// only the part of a night's noise that its launches are falls with their number.
double width_with(const CellTest& test, const GateSeries& cell, std::size_t launches) {
  const auto n = static_cast<double>(launches);
  const double width = test.estimate.width;
  if (test.rounds > 0) return width * std::sqrt(static_cast<double>(test.rounds) / n);
  if (std::isnan(cell.launch_spread) || cell.launches == 0) return width;
  const double launch = std::numbers::pi / 2 * cell.launch_spread * cell.launch_spread;
  const double all = test.spread * test.spread;
  const double night = std::max(0.0, all - launch / static_cast<double>(cell.launches));
  return width * std::sqrt(std::min(all, night + launch / n) / all);
}

std::optional<std::size_t> launches_for(const CellTest& test, const GateSeries& cell,
                                        double limit) {
  constexpr std::size_t kMost = 1000;
  const auto sees = [&](std::size_t launches) {
    const double width = width_with(test, cell, launches);
    return hurdles_of(test, limit, cell.floor, width).power(-std::log1p(-kToBeSeen)) >= kNightPower;
  };
  if (!sees(kMost)) return std::nullopt;
  std::size_t low = 1, high = kMost;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (sees(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

}  // namespace

std::vector<Sensitivity> sensitivities(const GateSeriesSet& set, const NightTest& test) {
  std::vector<double> p_values;
  for (const CellTest& cell : test.cells) p_values.push_back(cell.p_worse);
  std::vector<double> limits = discovery_limits(p_values);
  for (std::size_t c = 0; c < limits.size(); ++c) {
    // What is open was measured and not tested again: as if it had been, beside the others.
    const CellTest& cell = test.cells[c];
    const bool judged = cell.signal != Signal::untested && cell.signal != Signal::shifted;
    if (!judged || !std::isnan(limits[c])) continue;
    p_values[c] = 1;
    limits[c] = discovery_limits(p_values)[c];
    p_values[c] = kNotMeasured;
  }
  std::vector<Sensitivity> found(set.cells.size());
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    if (std::isnan(limits[c])) continue;
    const CellTest& cell = test.cells[c];
    const Hurdles hurdles = hurdles_of(cell, limits[c], set.cells[c].floor, cell.estimate.width);
    found[c].critical_drop = -std::expm1(-hurdles.first.threshold);
    found[c].mde = found_with_power(hurdles);
    if (!found[c].sees()) {
      found[c].launches_needed = launches_for(test.cells[c], set.cells[c], limits[c]);
    }
  }
  return found;
}

}  // namespace scalebench
