// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/memory.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// How clearly a value must lie on the good side of half the change for the alarm to end.
constexpr double kOverSignificance = 1e-3;
constexpr std::size_t kMostToClose = 10;  // nights that may say so together

bool above(double value, double half, double width, double df) {
  return student_t_tail((value + half) / width, df) < kOverSignificance;
}

}  // namespace

NightMemory::NightMemory(GateSeriesSet set, GateSeriesSet controls,
                         std::vector<Remembered> remembered)
    : set_(std::move(set)), controls_(std::move(controls)), remembered_(std::move(remembered)) {
  judged_.open.resize(set_.cells.size());
}

const JudgedNight& NightMemory::last() {
  while (night_ + 1 < set_.nights) next();
  return next();
}

const JudgedNight& NightMemory::next() {
  JudgedNight now;
  now.open = std::move(judged_.open);
  now.host = judged_.host;
  now.outcomes.assign(set_.cells.size(), Discovery::none);
  now.drifts.resize(set_.cells.size());
  now.worse_nights.assign(set_.cells.size(), 0);
  judged_ = std::move(now);
  carry_over();
  judged_.baseline = baseline_of(set_, night_);
  for (const std::size_t c : std::exchange(forced_, {})) {
    judged_.open[c]->last_good = good_before(c, night_, judged_.open[c]->change);
  }
  judged_.test = test_night(set_, judged_.baseline, host_shift(), night_);
  shifts_.push_back(judged_.test.common.value);
  for (std::size_t c = 0; c < set_.cells.size(); ++c) {
    const CellTest& test = judged_.test.cells[c];
    const bool worse = test.signal == Signal::worse && test.rerun != Agreement::disagrees;
    if (worse) judged_.worse.insert(c);
  }
  worse_.push_back(judged_.worse);
  judge_host();
  for (std::size_t c = 0; c < set_.cells.size(); ++c) judge_cell(c);
  ++night_;
  return judged_;
}

/// What is open when the night begins.
void NightMemory::carry_over() {
  bool all_accepted = true, any = false;
  for (const GateSeries& cell : set_.cells) {
    if (!judged_.host || std::isnan(cell.y[night_]) || !cell.moves_with_host) continue;
    any = true;
    all_accepted = all_accepted && cell.segment[night_] != cell.segment[judged_.host->since];
  }
  if (any && all_accepted) judged_.host.reset();
  for (const Remembered& one : remembered_) {
    std::optional<OpenAlarm>& its = one.cell == kAllCells ? judged_.host : judged_.open[one.cell];
    if (one.since != night_ || its) continue;
    its = OpenAlarm{night_, night_, std::nullopt, one.change};
    if (one.cell == kAllCells && night_ > 0) its->last_good = night_ - 1;
    if (one.cell != kAllCells) forced_.push_back(one.cell);
  }
  for (std::size_t c = 0; c < set_.cells.size(); ++c) {
    GateSeries& cell = set_.cells[c];
    std::optional<OpenAlarm>& its = judged_.open[c];
    if (its && cell.segment[its->since] != cell.segment[night_]) its.reset();
    if (its) cell.kept_out[night_] = true;
  }
}

/// As the accepted build's cells tell it, which no commit changes, where they can; else as the
/// cells under test do.
Shift NightMemory::host_shift() {
  if (!controls_.cells.empty()) {
    const Shift shift = common_shift(controls_, baseline_of(controls_, night_), night_);
    judged_.controlled = shift.cells > 0;
    if (judged_.controlled) return shift;
  }
  return common_shift(set_, judged_.baseline, night_);
}

void NightMemory::judge_host() {
  const Shift& common = judged_.test.common;
  const Shift& suite = judged_.test.suite;
  // Beside the accepted build the host cancels: what is left is not the host.
  const bool explained = !judged_.controlled && suite.cells > 0;
  const double unexplained = common.value - (explained ? suite.value : 0);
  const bool alarm =
      common.alarm() && (!explained || std::abs(std::expm1(unexplained)) > kHostAlarm);
  bool lasts = alarm && common.clear();
  double change = common.value;
  std::size_t since = night_;
  series_ = host_series(judged_.controlled ? controls_ : set_, night_);
  if (!explained) {
    GateSeries host;
    host.moves_with_host = false;
    host.y = series_;
    host.segment.assign(host.y.size(), 0);
    host.kept_out.assign(host.y.size(), false);
    judged_.host_drift = drift_of(host, night_, {}, std::nullopt);
    if (judged_.host_drift.found && !alarm) {
      lasts = true;
      change = std::log1p(judged_.host_drift.change);
      since = judged_.host_drift.since;
    }
  }
  shifted_.push_back(common.alarm());
  if (judged_.host && !alarm && !lasts) {
    const double direction = judged_.host->change < 0 ? 1 : -1;
    const bool over =
        common.cells > 0 && above(direction * common.value, std::abs(judged_.host->change) / 2,
                                  common.width, common.df);
    if (over || explained) judged_.host.reset();
  } else if (lasts && !judged_.host) {
    judged_.host = OpenAlarm{since, night_, std::nullopt, change};
    if (since > 0) judged_.host->last_good = since - 1;
  }
  judged_.host_alarm = alarm || judged_.host.has_value();
  if (judged_.host_alarm || common.alarm()) keep_out(std::min(since, night_));
}

/// Nights of another state of the host, or of something that all cells share, are no baseline.
void NightMemory::keep_out(std::size_t since) {
  for (GateSeriesSet* const set : {&set_, &controls_}) {
    for (GateSeries& cell : set->cells) {
      std::fill(cell.kept_out.begin() + static_cast<std::ptrdiff_t>(since),
                cell.kept_out.begin() + static_cast<std::ptrdiff_t>(night_) + 1, true);
    }
  }
}

void NightMemory::judge_cell(std::size_t c) {
  GateSeries& cell = set_.cells[c];
  const CellTest& test = judged_.test.cells[c];
  const bool judged = test.signal != Signal::untested && test.signal != Signal::shifted;
  if (judged_.open[c]) {
    if (judged && is_over(c)) {
      judged_.open[c].reset();
      cell.kept_out[night_] = judged_.host_alarm;
    } else {
      judged_.outcomes[c] = Discovery::open;
    }
    return;
  }
  if (!judged) return;
  if (test.signal == Signal::worse) {
    std::size_t first = night_;
    std::size_t& count = judged_.worse_nights[c];
    count = 1;
    for (std::size_t k = night_ - std::min<std::size_t>(2, night_); k < night_; ++k) {
      if (!worse_[k].contains(c) || cell.segment[k] != cell.segment[night_]) continue;
      ++count;
      first = std::min(first, k);
    }
    if (count > 1 && (count > 2 || test.rerun != Agreement::disagrees)) {
      open(c, first, test.estimate.value, Discovery::confirmed);
    } else if (test.rerun == Agreement::agrees) {
      open(c, night_, test.estimate.value, Discovery::regressed);
    }
  } else if (test.signal == Signal::none && test.rounds == 0) {
    // Beside the accepted build a slow drift adds up in the rounds themselves.
    Drift& drift = judged_.drifts[c];
    const CellBaseline& its = judged_.baseline[c];
    drift = drift_of(cell, night_, series_, its.of_family ? std::optional(its.phi) : std::nullopt);
    if (!drift.found) return;
    const double change = std::log1p(drift.change);
    const auto good = good_before(c, drift.earliest, change);
    open(c, drift.since, change, Discovery::drift);
    judged_.open[c]->last_good = good;
  }
}

void NightMemory::open(std::size_t c, std::size_t since, double change, Discovery outcome) {
  GateSeries& cell = set_.cells[c];
  judged_.open[c] = OpenAlarm{since, night_, good_before(c, since, change), change};
  judged_.outcomes[c] = outcome;
  std::fill(cell.kept_out.begin() + static_cast<std::ptrdiff_t>(since),
            cell.kept_out.begin() + static_cast<std::ptrdiff_t>(night_) + 1, true);
}

/// The last night before `since` that was clearly on the good side of half the change: a night may
/// have been slow already and not looked it.
std::optional<std::size_t> NightMemory::good_before(std::size_t c, std::size_t since,
                                                    double change) const {
  constexpr double kSure = 1.645;  // one in twenty
  const GateSeries& cell = set_.cells[c];
  const CellBaseline& its = judged_.baseline[c];
  for (const std::size_t k : nights_of(cell, since, kBaselineNights, cell.segment[since])) {
    const double d = cell.y[k] - its.level - (cell.moves_with_host ? shifts_[k] : 0);
    if (d + std::abs(change) / 2 > kSure * its.spread) return k;
  }
  return std::nullopt;
}

/// Whether the cell is clearly on the good side of half the change: by tonight's rounds beside the
/// accepted build, else by the last nights together.
bool NightMemory::is_over(std::size_t c) const {
  const CellTest& test = judged_.test.cells[c];
  const double half = std::abs(judged_.open[c]->change) / 2;
  const Estimate& tonight = test.estimate;
  if (test.rounds > 0) return above(tonight.value, half, tonight.width, tonight.df);
  const GateSeries& cell = set_.cells[c];
  const CellBaseline& its = judged_.baseline[c];
  const double of_level = std::pow(its.width / its.spread, 2) - 1;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t k = night_ + 1; k-- > judged_.open[c]->found + 1 && count < kMostToClose;) {
    if (std::isnan(cell.y[k]) || shifted_[k]) continue;
    sum += cell.y[k] - its.level - (cell.moves_with_host ? shifts_[k] : 0);
    ++count;
    const double width = its.spread * std::sqrt(1 / effective_count(count, its.phi) + of_level);
    if (above(sum / static_cast<double>(count), half, width, its.df)) return true;
  }
  return false;
}

}  // namespace scalebench
