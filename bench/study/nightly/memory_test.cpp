// SPDX-License-Identifier: Apache-2.0
// What the gate remembers from night to night, what ends that, and what it says beside the accepted
// build.
#include "bench/study/nightly/memory.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/study/nightly/gate.hpp"
#include "bench/study/nightly/made_up_nights_test.hpp"

namespace scalebench::memory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kCells = 14;

std::string run_of(std::size_t night) {
  return fmt::format("2026{:02}{:02}T030000Z-nightly-000000", 1 + night / 28, 1 + night % 28);
}

std::string start_of(std::size_t night) {
  return fmt::format("2026-{:02}-{:02}T03:00:00Z", 1 + night / 28, 1 + night % 28);
}

/// Nights of cells that take 1, 2, .. seconds, times what happens to them.
class Story {
 public:
  explicit Story(std::size_t nights) {
    for (std::size_t k = 0; k < nights; ++k) nights_.push_back(night(k));
  }
  /// `cell` from night `from` on, as many times as long.
  Story& slow(std::size_t cell, std::size_t from, double times) {
    for (std::size_t k = from; k < nights_.size(); ++k) nights_[k].cells[cell].value *= times;
    return *this;
  }
  Story& slow_all(std::size_t from, double times) {
    for (std::size_t c = 0; c < kCells; ++c) slow(c, from, times);
    return *this;
  }
  GateInput input() const {
    GateInput input;
    input.history.nights = {nights_.begin(), nights_.end() - 1};
    for (const Night& one : input.history.nights) {
      input.history.started[one.run_id] = one.started_utc;
    }
    input.tonight = nights_.back();
    return input;
  }
  static Night night(std::size_t k) {
    Night made{run_of(k), start_of(k), {}, fmt::format("commit{}", k)};
    for (std::size_t c = 0; c < kCells; ++c) {
      NightCell cell;
      cell.key = fmt::format("allreduce/{:012x}/2/seconds", c);
      cell.label = fmt::format("cell {}", c);
      cell.family = "bandwidth";
      cell.value = static_cast<double>(c + 1) * (1 + wobble(c, k));
      cell.launches = {cell.value, cell.value * 1.01, cell.value * 0.99};
      made.cells.push_back(cell);
    }
    return made;
  }

 private:
  std::vector<Night> nights_;
};

GateVerdict verdict_in(const GateReport& report, std::size_t cell) {
  return report.cells.at(cell).verdict;
}

/// Rounds in which today's build took `ratio` times as long, give or take 1 %.
std::vector<double> rounds(double ratio, std::size_t cell = 0, std::size_t count = 8) {
  std::vector<double> values;
  for (std::size_t r = 0; r < count; ++r) values.push_back(ratio * (1 + wobble(cell + 3, r)));
  return values;
}

/// The build of night 0, accepted then, which ran beside night `k`.
BesideNight beside(std::size_t k, double ratio) {
  BesideNight made{run_of(0), "commit0", "hash0", {}, {}, Story::night(k)};
  for (std::size_t c = 0; c < kCells; ++c) {
    made.ratios[made.accepted.cells[c].key] = rounds(ratio, c);
    made.rerun_ratios[made.accepted.cells[c].key] = rounds(ratio, c + 20);
  }
  return made;
}

TEST(GateMemory, UnacknowledgedRegressionIsOpenForEver) {
  for (const std::size_t nights : {23U, 40U, 90U}) {
    const GateReport report = gate(Story(nights).slow(3, 20, 1.08).input());
    EXPECT_EQ(verdict_in(report, 3), GateVerdict::open) << nights;
    ASSERT_EQ(report.open.size(), 1U);
    EXPECT_EQ(report.open[0].since_run, run_of(20));
    EXPECT_EQ(report.open[0].last_good_run, run_of(19));
    EXPECT_EQ(report.open[0].good_commit, "commit19");
    EXPECT_EQ(report.open[0].bad_commit, "commit20");
    EXPECT_NEAR(report.open[0].change, 1 / 1.08 - 1, 0.02);
    const NightVerdict verdict = verdict_of(report, {}, {});
    EXPECT_EQ(verdict.word, "REGRESSED");
    EXPECT_EQ(verdict.exit_code, 1);
    EXPECT_FALSE(report.cells[3].in_baseline.contains(20));
  }
}

TEST(GateMemory, OpenCellsAreCountedAndSensedAsTheOthers) {
  Story story(30);
  for (const std::size_t c : {2U, 3U, 4U}) story.slow(c, 20, 1.08);
  const GateReport report = gate(story.input());
  EXPECT_EQ(report.count(GateVerdict::open), 3U);
  EXPECT_EQ(report.tested(), kCells);
  for (const GateCell& cell : report.cells) {
    EXPECT_TRUE(cell.tested()) << cell.cell.label;
    EXPECT_GT(cell.sensitivity.mde, 0) << cell.cell.label;
  }
  // And in numbers of their own, beside the relative ones.
  const std::string table = nightly_table(report, verdict_of(report, {}, {}));
  EXPECT_THAT(table, HasSubstr(" s -> 3.2"));
  EXPECT_THAT(table, HasSubstr("14 of 14 expected cells tested"));
}

TEST(GateMemory, BlindnessCountsTheCellsThatWereTested) {
  Story story(30);
  for (const std::size_t c : {2U, 3U, 4U}) story.slow(c, 20, 3);
  GateInput input = story.input();
  for (std::size_t k = 0; k < 30; ++k) {
    Night& night = k == 29 ? input.tonight : input.history.nights[k];
    for (std::size_t c = 0; c < kCells; ++c) {
      night.cells[c].value *= std::exp(15 * wobble(c + 5, k));
    }
  }
  const GateReport report = gate(input);
  ASSERT_GT(report.count(GateVerdict::open), 0U);
  EXPECT_THAT(verdict_of(report, {}, {}).summary,
              HasSubstr(fmt::format("{0} of {0} tested cells would not show", report.tested())));
}

TEST(GateMemory, RecordKeepsOpenWhatIsOlderThanTheNightsThatAreThere) {
  GateInput input = Story(20).slow(3, 0, 1.08).input();
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::ok) << "nothing shows it any more";
  const std::string key = input.tonight.cells[3].key;
  input.history.open = {{key, "20250101T030000Z-nightly-000000", "2025-01-01T03:00:00Z", -0.08}};
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::open);
  EXPECT_EQ(report.open.at(0).since_run, "20250101T030000Z-nightly-000000");
  // People end it, and so does leaving out the night that it began with.
  input.annotations.accepted.push_back({run_of(5), "cell 3", "wanted"});
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::ok);
  input.annotations = {};
  input.annotations.excluded.push_back({input.history.open[0].since_run, "*", "a backup ran"});
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::ok);
}

TEST(GateMemory, MeasuredAwayIsOver) {
  const auto night = [](std::size_t nights) {
    return verdict_in(gate(Story(nights).slow(3, 20, 1.08).slow(3, 26, 1 / 1.08).input()), 3);
  };
  EXPECT_EQ(night(26), GateVerdict::open);
  EXPECT_EQ(night(30), GateVerdict::ok);
}

TEST(GateMemory, AcceptDisarmsOneCellAndOnlyUpToItsNewLevel) {
  const auto verdicts = [](double further) {
    Story story(24);
    story.slow(3, 20, 1.10).slow(5, 20, 1.10).slow(3, 23, further);
    GateInput input = story.input();
    input.annotations.accepted.push_back({run_of(22), "cell 3", "safer"});
    const GateReport report = gate(input);
    EXPECT_EQ(verdict_in(report, 5), GateVerdict::open) << "nobody accepted that";
    return report.cells[3].test.signal;
  };
  EXPECT_EQ(verdicts(1.0), Signal::none);
  EXPECT_EQ(verdicts(1.10), Signal::worse) << "one night after the accepted one";
}

TEST(GateMemory, ShiftedNightsAreNoBaselineAndTheShiftStaysOpen) {
  const GateReport report = gate(Story(60).slow_all(20, 1.06).input());
  EXPECT_TRUE(report.host_alarm);
  EXPECT_EQ(report.count(GateVerdict::unjudged), kCells);
  ASSERT_EQ(report.open.size(), 1U);
  EXPECT_EQ(report.open[0].key, "*");
  EXPECT_EQ(report.open[0].since_run, run_of(20));
  EXPECT_EQ(report.open[0].last_good_run, run_of(19));
  EXPECT_EQ(report.baseline_runs.size(), 20U);
  GateInput known = Story(60).slow_all(20, 1.06).input();
  known.history.open = {{"*", run_of(20), "", 1 / 1.06 - 1}};
  EXPECT_EQ(gate(known).open[0].last_good_run, run_of(19)) << "as when no record knew of it";
  EXPECT_EQ(verdict_of(report, {}, {}).word, "HOST SHIFT");
  GateInput accepted = Story(60).slow_all(20, 1.06).input();
  accepted.annotations.accepted.push_back({run_of(20), "*", "another kernel"});
  EXPECT_EQ(gate(accepted).count(GateVerdict::ok), kCells);
  // It came and went.
  const GateReport back = gate(Story(30).slow_all(20, 1.06).slow_all(21, 1 / 1.06).input());
  EXPECT_FALSE(back.host_alarm);
  EXPECT_EQ(back.count(GateVerdict::ok), kCells);
}

TEST(Beside, JudgesByRoundsAndTheHostByTheAcceptedBuild) {
  // A slow host tonight: both builds take 30 % longer, and today's 6 % more than that.
  GateInput input = Story(15).slow_all(14, 1.3 * 1.06).input();
  input.beside = beside(14, 1.06);
  for (NightCell& cell : input.beside->accepted.cells) cell.value *= 1.3;
  GateReport report = gate(input);
  EXPECT_EQ(report.count(GateVerdict::regressed), kCells);
  EXPECT_EQ(report.cells[0].test.rounds, 8U);
  EXPECT_NEAR(report.cells[0].test.change, 1 / 1.06 - 1, 0.01);
  EXPECT_TRUE(report.suite_alarm());
  EXPECT_TRUE(report.host_alarm) << "more than the commits did";
  EXPECT_FALSE(report.controlled) << "one night of the accepted build tells no shift";
  EXPECT_EQ(gate_rows(report).front().get("basis"), "beside");
  EXPECT_THAT(verdict_of(report, {}, {}).summary, HasSubstr("beside the accepted build"));
  GateInput usual = input;
  usual.tonight = Story(15).slow_all(14, 1.06).input().tonight;
  EXPECT_FALSE(gate(usual).host_alarm) << "the rounds explain what all cells did";
  // Once it has run on enough nights it tells the host, and the commits are still told apart.
  for (std::size_t k = 0; k < 14; ++k) input.history.beside[run_of(k)] = beside(k, 1.0);
  report = gate(input);
  EXPECT_TRUE(report.controlled);
  EXPECT_TRUE(report.host_alarm);
  EXPECT_EQ(report.count(GateVerdict::regressed), kCells);
  EXPECT_THAT(verdict_of(report, {}, {}).summary, HasSubstr("the accepted build -2"));
}

TEST(Beside, FirstNightNeedsNoHistory) {
  GateInput input = Story(1).slow(3, 0, 1.1).input();
  input.beside = beside(0, 1.0);
  input.beside->run_id = "20250101T030000Z-nightly-000000";
  const std::string key = input.tonight.cells[3].key;
  input.beside->ratios[key] = rounds(1.1);
  input.beside->rerun_ratios.clear();
  GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::ambiguous);
  ASSERT_EQ(report.suspects().size(), 1U);
  EXPECT_EQ(report.count(GateVerdict::ok), kCells - 1);
  input.beside->rerun_ratios[key] = rounds(1.1, 9);
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::regressed);
  input.beside->rerun_ratios[key] = rounds(1.0, 9);
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::ambiguous);
}

TEST(Beside, SweepAndRerunAreJudgedTogether) {
  const auto night = [](double sweep, double again) {
    GateInput input = Story(1).slow(3, 0, sweep).input();
    input.beside = beside(0, 1.0);
    const std::string key = input.tonight.cells[3].key;
    input.beside->ratios[key] = rounds(sweep);
    input.beside->rerun_ratios.clear();
    if (again > 0) input.beside->rerun_ratios[key] = rounds(again, 9);
    return gate(input);
  };
  // Less than the floor is no alarm, but a reason to measure it again.
  GateReport report = night(1.026, 0);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::ok);
  EXPECT_EQ(report.suspects().size(), 1U);
  report = night(1.026, 1.05);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::regressed);
  EXPECT_NEAR(report.cells[3].test.change, 1 / 1.038 - 1, 0.004) << "of both together";
  report = night(1.026, 1.026);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::ok);
  EXPECT_TRUE(report.suspects().empty());
  EXPECT_EQ(verdict_in(night(1.09, 1.0), 3), GateVerdict::ambiguous)
      << "4.5 % together, of which the rerun saw nothing";
}

TEST(Beside, RoundsThatLackASideAreLeftOutAndTooFewAreNone) {
  GateInput input = Story(1).input();
  input.beside = beside(0, 1.0);
  const std::string key = input.tonight.cells[3].key;
  std::vector<double> torn = rounds(1.0);
  torn[2] = kNotMeasured;
  input.beside->ratios[key] = torn;
  EXPECT_EQ(gate(input).cells[3].test.rounds, 7U);
  input.beside->ratios[key] = {1.0, kNotMeasured, 1.0};
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::insufficient);
}

TEST(Beside, RegressionOlderThanTheAcceptedBuildStaysOpen) {
  // Cell 3 is slow from night 20 on; the build of night 22 is accepted for the sake of cell 5.
  GateInput input = Story(25).slow(3, 20, 1.10).slow(5, 20, 1.10).input();
  input.annotations.accepted.push_back({run_of(22), "cell 5", "wanted"});
  for (const std::size_t k : {23U, 24U}) {
    BesideNight same = beside(k, 1.0);
    same.run_id = run_of(22);
    same.hash = "hash22";
    if (k == 24) input.beside = same;
    input.history.beside[run_of(k)] = same;
  }
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::open) << "equal to a build that is slow too";
  EXPECT_EQ(verdict_in(report, 5), GateVerdict::ok);
}

/// Cell 3 takes 10 % longer from night 20 on, which is accepted, and tonight `times` as long again.
GateInput with_accepted_change(double times) {
  GateInput input = Story(25).slow(3, 20, 1.10).slow(3, 24, times).input();
  input.annotations.accepted.push_back({run_of(20), "cell 3", "wanted"});
  for (std::size_t k = 10; k < 24; ++k) {
    BesideNight& its = input.history.beside[run_of(k)] = beside(k, 1.0);
    if (k >= 20) its.ratios[input.tonight.cells[3].key] = rounds(1.10);
  }
  input.beside = beside(24, 1.0);
  return input;
}

TEST(Beside, AcceptedChangeOfOneCellIsTakenOutOfItsRounds) {
  GateInput input = with_accepted_change(1.10);
  const std::string key = input.tonight.cells[3].key;
  input.beside->ratios[key] = rounds(1.10);
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::ok);
  input.beside->ratios[key] = input.beside->rerun_ratios[key] = rounds(1.21);
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::regressed);
  EXPECT_NEAR(report.cells[3].test.change, 1 / 1.10 - 1, 0.02) << "beyond what was accepted";
}

TEST(Beside, WhatTookLongerThanTheAcceptedBuildIsNoImprovement) {
  // Accepted at 10 % longer; tonight 5 % longer than the accepted build, which is what is shown.
  GateInput input = with_accepted_change(1.05 / 1.10);
  input.beside->ratios[input.tonight.cells[3].key] = rounds(1.05);
  const GateReport report = gate(input);
  EXPECT_GT(report.cells[3].test.change, 0.03);
  EXPECT_GT(report.cells[3].values.back(), report.cells[3].before);
  EXPECT_EQ(verdict_in(report, 3), GateVerdict::ok);
}

TEST(Beside, EfficiencyIsOfBothItsTimes) {
  GateInput input = Story(1).input();
  NightCell efficiency = input.tonight.cells[1];
  efficiency.metric = "efficiency";
  efficiency.key = "allreduce/e/2/efficiency";
  efficiency.base_key = input.tonight.cells[0].key;
  efficiency.time_key = input.tonight.cells[1].key;
  efficiency.value = 0.8;
  input.tonight.cells.push_back(efficiency);
  input.beside = beside(0, 1.0);
  input.beside->ratios[efficiency.time_key] = rounds(1.10, 1);
  const GateReport report = gate(input);
  EXPECT_NEAR(report.cells.back().test.change, 1 / 1.10 - 1, 0.01);
}

TEST(Sensitivity, NamesTheLaunchesThatItWouldTake) {
  GateInput input = Story(15).input();
  for (std::size_t k = 0; k < 15; ++k) {
    Night& night = k == 14 ? input.tonight : input.history.nights[k];
    for (std::size_t c = 0; c < kCells; ++c) {
      // Launches differ by 10 %, and a night by what is left of that in a median of three.
      NightCell& cell = night.cells[c];
      cell.value *= std::exp(7 * wobble(c + 5, k));
      cell.launches = {cell.value * 0.9, cell.value, cell.value * 1.1};
    }
  }
  const GateReport report = gate(input);
  ASSERT_FALSE(report.unseeing().empty());
  const Sensitivity& its = report.unseeing()[0]->sensitivity;
  EXPECT_GT(its.mde, its.critical_drop);
  ASSERT_TRUE(its.launches_needed);
  EXPECT_GT(*its.launches_needed, 3U);
  input.beside = beside(14, 1.0);
  EXPECT_TRUE(gate(input).unseeing().empty()) << "rounds that agree within 1 %";
}

}  // namespace
}  // namespace scalebench::memory_test
