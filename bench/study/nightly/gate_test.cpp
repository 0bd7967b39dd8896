// SPDX-License-Identifier: Apache-2.0
// What the gate says of nights in which this or that happened, and how the night then ends.
#include "bench/study/nightly/gate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "bench/study/nightly/made_up_nights_test.hpp"
#include "bench/study/nightly/report.hpp"

namespace scalebench::gate_test {
namespace {

using testing::HasSubstr;

void slow_down(Night& night, std::size_t cell, double times) {
  night.cells.at(cell).value *= times;
}

GateVerdict verdict_in(const GateReport& report, std::size_t cell) {
  for (const GateCell& its : report.cells) {
    if (its.cell.key == cell_of(cell, 1).key) return its.verdict;
  }
  ADD_FAILURE() << "no cell " << cell;
  return GateVerdict::ok;
}

NightVerdict end_of(const GateReport& report, const FailOn& fail_on = {}) {
  return verdict_of(report, {}, fail_on);
}

TEST(Gate, PassesANightLikeTheOthers) {
  const GateReport report = gate(input_of(15));
  EXPECT_EQ(report.count(GateVerdict::ok), kNightCells);
  EXPECT_EQ(report.tested(), kNightCells);
  EXPECT_TRUE(report.unseeing().empty());
  EXPECT_EQ(end_of(report).word, "PASS");
  EXPECT_EQ(end_of(report).exit_code, 0);
  EXPECT_EQ(report.baseline_runs.size(), 14U);
}

TEST(Gate, FirstNightIsInsufficientAndNoFailure) {
  const NightVerdict first = end_of(gate(input_of(1)));
  EXPECT_EQ(first.word, "INSUFFICIENT");
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(end_of(gate(input_of(8))).word, "INSUFFICIENT") << "seven before";
  EXPECT_EQ(end_of(gate(input_of(9))).word, "PASS") << "eight before";
}

TEST(Gate, WithoutACellInCommonNothingWasCompared) {
  GateInput input = input_of(15);
  for (NightCell& cell : input.tonight.cells) cell.key += "/renamed";
  const NightVerdict verdict = end_of(gate(input));
  EXPECT_EQ(verdict.word, "NOTHING MEASURED");
  EXPECT_EQ(verdict.exit_code, 4);
  EXPECT_THAT(verdict.summary, HasSubstr("not one cell in common"));
  input.tonight.cells.clear();
  EXPECT_EQ(end_of(gate(input)).exit_code, 4);
}

TEST(Gate, MetricThatVanishedIsMissing) {
  GateInput input = input_of(15);
  input.tonight.cells.erase(input.tonight.cells.begin());
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 0), GateVerdict::missing);
  EXPECT_EQ(end_of(report).word, "INCOMPLETE");
  EXPECT_EQ(end_of(report).exit_code, 3);
  // Skipped tonight is missing too: it was measured before.
  input = input_of(15);
  input.tonight.cells[0].status = "skipped";
  EXPECT_EQ(verdict_in(gate(input), 0), GateVerdict::missing);
  for (Night& night : input.history.nights) night.cells[0].status = "skipped";
  EXPECT_EQ(verdict_in(gate(input), 0), GateVerdict::skipped);
  EXPECT_EQ(end_of(gate(input)).exit_code, 0);
}

TEST(Gate, MissingCellThatWasAcceptedIsNoLongerExpected) {
  GateInput input = input_of(15);
  input.tonight.cells.erase(input.tonight.cells.begin());
  input.annotations.accepted.push_back({run_id(14), "*64 KiB*", "size dropped from the study"});
  EXPECT_EQ(end_of(gate(input)).word, "PASS");
}

TEST(Gate, NoNumberIsInvalidAndNeverAPass) {
  for (const double value : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::quiet_NaN()}) {
    GateInput input = input_of(15);
    input.tonight.cells[3].value = value;
    const GateReport report = gate(input);
    EXPECT_EQ(verdict_in(report, 3), GateVerdict::invalid);
    EXPECT_EQ(end_of(report).exit_code, 3);
  }
  GateInput input = input_of(15);
  input.tonight.cells[3].status = "wrong";
  EXPECT_EQ(verdict_in(gate(input), 3), GateVerdict::invalid);
}

TEST(Gate, TwoHundredAndFiftySixFailuresAreNoSuccess) {
  const NightVerdict verdict = verdict_of(gate(input_of(15)), {.failed_launches = 256}, {});
  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_EQ(verdict.word, "INCOMPLETE");
}

TEST(Gate, HistoryWithoutAnySpreadTakesTheFloor) {
  GateInput input = input_of(15);
  for (Night& night : input.history.nights) {
    for (std::size_t c = 0; c < kNightCells; ++c) night.cells[c].value = static_cast<double>(c + 1);
  }
  for (std::size_t c = 0; c < kNightCells; ++c) {
    input.tonight.cells[c].value = static_cast<double>(c + 1) * (c == 0 ? 1.001 : 1);
  }
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 0), GateVerdict::ok);
  EXPECT_DOUBLE_EQ(report.cells[0].baseline.spread, kSpreadFloor);
  EXPECT_LT(std::abs(report.cells[0].test.score), 1);
}

TEST(Gate, SlowHostIsOneAlarmAndNotOneACell) {
  GateInput input = input_of(15);
  for (std::size_t c = 0; c < kNightCells; ++c) slow_down(input.tonight, c, 1.06);
  const GateReport report = gate(input);
  EXPECT_TRUE(report.host_alarm);
  EXPECT_EQ(report.count(GateVerdict::unjudged), kNightCells)
      << "one alarm, and no verdict on cells";
  EXPECT_EQ(report.tested(), 0U);
  EXPECT_EQ(end_of(report).word, "HOST SHIFT");
  EXPECT_THAT(end_of(report).summary, HasSubstr("the host or something that all cells share"));
  EXPECT_EQ(end_of(report).exit_code, 1);
}

TEST(Gate, LibrariesThatHaveChangedUnderBothBuildsAreNamed) {
  GateInput input = input_of(15);
  for (std::size_t c = 0; c < kNightCells; ++c) slow_down(input.tonight, c, 1.06);
  GateReport report = gate(input);
  report.controlled = true;
  EXPECT_THAT(end_of(report).summary, HasSubstr("]: the host. "));
  const NightEvents events{.changed_libraries = {"/lib/libmpi.so.40", "/lib/b.so", "/c.so", "/d"}};
  EXPECT_THAT(verdict_of(report, events, {}).summary,
              HasSubstr("the host or its libraries; libraries that have changed since it was "
                        "accepted: libmpi.so.40, b.so, c.so and 1 more. "));
}

/// Nights beside an accepted build, which measures what is under test; in the last `slow` of them
/// both are `times` as slow in cell 2.
GateInput both_slower(std::size_t slow, double times) {
  constexpr std::size_t kNights = 15;
  GateInput input = input_of(kNights);
  for (std::size_t k = 0; k < kNights; ++k) {
    Night& night = k + 1 == kNights ? input.tonight : input.history.nights[k];
    if (k + slow >= kNights) slow_down(night, 2, times);
    BesideNight beside;
    beside.run_id = run_id(0);
    beside.hash = "a";
    beside.accepted = night;
    for (const NightCell& cell : night.cells) {
      beside.ratios[cell.key] = {1, 1.002, 0.998, 1.001, 0.999, 1.003};
    }
    (k + 1 == kNights ? input.beside.emplace() : input.history.beside[night.run_id]) = beside;
  }
  return input;
}

TEST(Gate, SlowerInBothBuildsIsAnAlarmOfItsOwnAndNoCommit) {
  GateInput input = both_slower(1, 1.2);
  const std::string key = cell_of(2, 1).key;
  GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::ok);
  EXPECT_THAT(report.accepted_suspects, testing::ElementsAre(key));
  EXPECT_THAT(report.suspects(), testing::ElementsAre(&report.cells[2])) << "to be measured again";
  EXPECT_EQ(end_of(report).word, "INCOMPLETE");
  EXPECT_THAT(end_of(report).summary, HasSubstr("1 cell slower in the accepted build too, which "));
  // The rerun answers.
  input.beside->accepted_rerun = input.beside->accepted;
  input.history.reruns[run_id(14)] = input.tonight;
  report = gate(input);
  EXPECT_TRUE(report.suspects().empty());
  EXPECT_EQ(end_of(report).word, "HOST SHIFT");
  EXPECT_EQ(end_of(report).exit_code, 1);
  EXPECT_THAT(end_of(report).states, testing::Contains("accepted build slower"));
  EXPECT_THAT(end_of(report).summary,
              HasSubstr("1 cell slower in the accepted build too, by -15.6 %"));
  ASSERT_EQ(report.open.size(), 1U);
  EXPECT_TRUE(report.open[0].accepted_too);
  EXPECT_EQ(report.open[0].key, key);
  slow_down(input.beside->accepted_rerun, 2, 1 / 1.2);
  EXPECT_EQ(end_of(gate(input)).word, "PASS");
}

TEST(Gate, SlowerInBothBuildsStaysOpenUntilItIsAccepted) {
  GateInput input = both_slower(3, 1.2);
  EXPECT_EQ(end_of(gate(input)).word, "HOST SHIFT") << "worse in 2 of 3 nights";
  EXPECT_EQ(gate(input).open.front().since_run, run_id(12));
  input.annotations.accepted.push_back({run_id(12), "allreduce ring 256 KiB*", "new MPI"});
  EXPECT_EQ(end_of(gate(input)).word, "PASS");
  input.annotations = {};
  // A record keeps what the nights of another accepted build do not show.
  for (auto& [run, beside] : input.history.beside) beside.hash = "b";
  EXPECT_EQ(end_of(gate(input)).word, "PASS");
  input.history.open.push_back(
      {cell_of(2, 1).key, run_id(12), "2026-01-13T03:00:00Z", -0.16, /*accepted_too=*/true});
  EXPECT_EQ(end_of(gate(input)).word, "HOST SHIFT");
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::ok);
  input.annotations.accepted.push_back({run_id(12), "allreduce ring 256 KiB*", "new MPI"});
  EXPECT_EQ(end_of(gate(input)).word, "PASS");
}

TEST(Gate, AcceptingItsFirstNightEndsWhatARecordRemembers) {
  GateInput input = input_of(18);
  for (std::size_t k = 13; k < 17; ++k) slow_down(input.history.nights[k], 2, 1.10);
  slow_down(input.tonight, 2, 1.10);
  input.history.open.push_back({cell_of(2, 1).key, run_id(13), "2026-01-14T03:00:00Z", -0.09});
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::open);
  input.annotations.accepted.push_back({run_id(13), "allreduce ring 256 KiB*", "new default"});
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::ok);
}

/// Tonight with cell 2 ten percent slower, and its rerun as `again` times as long as usual.
GateInput suspect(double again) {
  GateInput input = input_of(15);
  slow_down(input.tonight, 2, 1.10);
  Night rerun = night_of(14);
  slow_down(rerun, 2, again);
  input.history.reruns[run_id(14)] = rerun;
  return input;
}

TEST(Gate, SuspectIsRegressedWhenTheRerunAgrees) {
  const GateReport report = gate(suspect(1.10));
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::regressed);
  EXPECT_EQ(end_of(report).word, "REGRESSED");
  EXPECT_EQ(end_of(report).exit_code, 1);
  FailOn lenient;
  lenient.states = {"incomplete"};
  EXPECT_EQ(end_of(report, lenient).exit_code, 0);
  EXPECT_EQ(end_of(report, lenient).word, "REGRESSED") << "the word stays";
  EXPECT_EQ(gate_rows(report).front().get("verdict"), "REGRESSED");
}

TEST(Gate, SuspectIsAmbiguousWhenTheRerunDoesNotAgree) {
  const GateReport report = gate(suspect(1.0));
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::ambiguous);
  EXPECT_EQ(end_of(report).exit_code, 0);
  EXPECT_THAT(end_of(report).states, testing::Contains("ambiguous"));
  FailOn strict;
  strict.states.insert("ambiguous");
  EXPECT_EQ(end_of(report, strict).exit_code, 3);
}

TEST(Gate, RerunInAnotherStateIsDiscardedWhenThatDecides) {
  // Ten percent slower in the rerun, as all of it was: as measured it agrees, corrected it does
  // not.
  GateInput input = suspect(1.0);
  for (std::size_t c = 0; c < kNightCells; ++c)
    slow_down(input.history.reruns[run_id(14)], c, 1.10);
  const GateReport report = gate(input);
  EXPECT_EQ(report.cells[2].test.rerun, Agreement::discarded);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::ambiguous);
  EXPECT_THAT(report.cells[2].note, HasSubstr("the rerun was discarded: the host had moved by -9"));
  EXPECT_EQ(end_of(report).exit_code, 3) << "an answer is missing";
  // What shows either way is an answer.
  slow_down(input.history.reruns[run_id(14)], 2, 1.10);
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::regressed);
}

TEST(Gate, ShiftIsMeasuredAgainWithTheRerun) {
  GateInput input = input_of(15);
  for (std::size_t c = 0; c < kNightCells; ++c) slow_down(input.tonight, c, 1.06);
  EXPECT_GE(gate(input).suspects().size(), kFewestForHost) << "cells that tell it";
  input.history.reruns[run_id(14)] = input.tonight;
  EXPECT_TRUE(gate(input).suspects().empty());
  EXPECT_THAT(end_of(gate(input)).summary, HasSubstr("-6.1 % in the rerun. "));
  input.history.reruns[run_id(14)] = night_of(14);
  EXPECT_THAT(end_of(gate(input)).summary, HasSubstr("in the rerun: another state"));
  EXPECT_EQ(end_of(gate(input)).exit_code, 1) << "never a pass";
}

TEST(Gate, WhatTookLongerIsNoImprovement) {
  GateInput input = input_of(15);
  // All but one cell 2.9 % slower, below the alarm; relative to them that one is faster.
  for (std::size_t c = 0; c < kNightCells; ++c) slow_down(input.tonight, c, c == 2 ? 1.015 : 1.029);
  for (NightCell& cell : input.tonight.cells) cell.floor = 0.01;
  const GateReport report = gate(input);
  EXPECT_LT(report.cells[2].as_measured, 0);
  EXPECT_NE(verdict_in(report, 2), GateVerdict::improved);
}

TEST(Gate, SuspectThatWasNotMeasuredAgainLeavesTheNightIncomplete) {
  GateInput input = suspect(1.0);
  input.history.reruns.clear();
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::ambiguous);
  EXPECT_EQ(end_of(report).exit_code, 3);
}

TEST(Gate, WorseInTwoOfThreeNightsIsConfirmed) {
  for (const std::size_t before : {13U, 12U}) {
    GateInput input = input_of(15);
    slow_down(input.tonight, 2, 1.10);
    slow_down(input.history.nights[before], 2, 1.10);
    const GateReport report = gate(input);
    EXPECT_EQ(verdict_in(report, 2), GateVerdict::confirmed);
    EXPECT_EQ(end_of(report).exit_code, 1);
  }
  GateInput input = input_of(15);
  slow_down(input.history.nights[13], 2, 1.10);
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::ok) << "not tonight";
}

TEST(Gate, ImprovementIsNamedAndNoFailure) {
  GateInput input = input_of(15);
  slow_down(input.tonight, 2, 0.9);
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::improved);
  EXPECT_EQ(end_of(report).exit_code, 0);
}

TEST(Gate, AcceptedChangeStartsALevelAndInheritsTheSpread) {
  GateInput input = input_of(18);
  for (std::size_t k = 13; k < 17; ++k) slow_down(input.history.nights[k], 2, 1.10);
  slow_down(input.tonight, 2, 1.10);
  EXPECT_NE(verdict_in(gate(input), 2), GateVerdict::ok);
  input.annotations.accepted.push_back({run_id(13), "allreduce ring 256 KiB*", "new default"});
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::ok) << "four nights of the new level";
  EXPECT_EQ(report.cells[2].segments, [] {
    std::vector<int> segments(18, 0);
    std::fill(segments.begin() + 13, segments.end(), 1);
    return segments;
  }());
  EXPECT_GT(report.cells[2].baseline.spread, kSpreadFloor);
  // A further drop is found although the new level has four nights only.
  slow_down(input.tonight, 2, 1.10);
  EXPECT_EQ(gate(input).cells[2].test.signal, Signal::worse);
  // On the night itself there is nothing to compare with yet.
  input.annotations.accepted[0].run = run_id(17);
  EXPECT_EQ(verdict_in(gate(input), 2), GateVerdict::insufficient);
}

TEST(Gate, RollingBaselineCannotBoilTheFrog) {
  GateInput input = input_of(30);
  for (std::size_t k = 1; k < 29; ++k) slow_down(input.history.nights[k], 2, 1.06);
  slow_down(input.tonight, 2, 1.06);
  input.history.pinned = night_of(0);
  input.annotations.pinned = Annotation{run_id(0), "*", "release 1"};
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::drift);
  EXPECT_LT(report.cells[2].pinned_change, -0.04);
  EXPECT_EQ(end_of(report).exit_code, 1);
}

TEST(Gate, StepTooSmallForOneNightIsFoundAsADrift) {
  GateInput input = input_of(31);
  for (std::size_t k = 18; k < 30; ++k) slow_down(input.history.nights[k], 2, 1.028);
  slow_down(input.tonight, 2, 1.028);
  const GateReport report = gate(input);
  EXPECT_EQ(verdict_in(report, 2), GateVerdict::open);
  EXPECT_GE(report.cells[2].open_since_run, run_id(18));
  EXPECT_LE(report.cells[2].last_good_run, run_id(17)) << "the commit is in the range";
}

TEST(Gate, ExcludedNightIsNoPass) {
  GateInput input = input_of(15);
  input.annotations.excluded.push_back({run_id(14), "*", "somebody compiled"});
  const GateReport report = gate(input);
  EXPECT_EQ(report.count(GateVerdict::excluded), kNightCells);
  EXPECT_EQ(end_of(report).word, "NOTHING MEASURED");
  EXPECT_EQ(end_of(report).exit_code, 4);
}

TEST(Gate, NoiseInWhichTenPercentDrownIsBlind) {
  GateInput input = input_of(15);
  for (std::size_t k = 0; k < 14; ++k) {
    for (std::size_t c = 0; c < kNightCells; ++c) {
      slow_down(input.history.nights[k], c, std::exp(30 * wobble(c + 5, k)));
    }
  }
  const GateReport report = gate(input);
  EXPECT_EQ(report.unseeing().size(), kNightCells);
  EXPECT_EQ(end_of(report).word, "BLIND");
  EXPECT_THAT(end_of(report).summary, HasSubstr("12 of 12 tested cells would not show"));
  EXPECT_EQ(end_of(report).exit_code, 3);
}

TEST(Gate, SameBuildThatDiffersAndAnUnseenSlowDownAreBlind) {
  const GateReport report = gate(input_of(15));
  const auto word = [&](const NightEvents& events) { return verdict_of(report, events, {}).word; };
  EXPECT_EQ(word({.aa = "1 of 4 cells differ"}), "BLIND");
  EXPECT_EQ(verdict_of(report, {.aa = "1 of 4 cells differ"}, {}).exit_code, 3);
  EXPECT_EQ(word({.canary = Canary{12, 5}}), "BLIND");
  EXPECT_EQ(word({.canary = Canary{12, 6}}), "PASS");
  EXPECT_EQ(word({.canary = Canary{12, 0}}), "BLIND");
  EXPECT_EQ(word({.canary = Canary{.why_not = "it did not end in good order"}}), "BLIND");
  const Canary seen{.cells = 12, .caught = 11, .expected = 11.5, .drop_low = .12, .drop_high = .17};
  EXPECT_THAT(nightly_table(report, {}, seen),
              HasSubstr("a slow-down of 12 to 17 % on purpose made suspects, without a rerun, of "
                        "11 of its 12 cells, "
                        "expected 11.5\n"));
  EXPECT_NE(AaCheck{}.trouble(), "") << "planned, and not one cell";
}

TEST(Gate, AHostAtFaultFailsANightOnlyWhereThatWasAskedFor) {
  const NightEvents events{.suspect = true};
  const FailOn asked{{"regression", "incomplete", "suspect"}};
  const GateReport fine = gate(input_of(15));
  EXPECT_EQ(verdict_of(fine, events, {}).word, "PASS");
  EXPECT_EQ(verdict_of(fine, events, {}).exit_code, 0);
  EXPECT_THAT(verdict_of(fine, events, {}).states, testing::Contains("suspect"));
  EXPECT_EQ(verdict_of(fine, events, asked).word, "SUSPECT");
  EXPECT_EQ(verdict_of(fine, events, asked).exit_code, 1);
  EXPECT_EQ(verdict_of(fine, {}, asked).word, "PASS");
  const NightEvents partial{.partial = true, .suspect = true};
  EXPECT_EQ(verdict_of(fine, partial, asked).word, "INCOMPLETE");
  EXPECT_EQ(verdict_of(fine, partial, asked).exit_code, 3);
}

TEST(Gate, PartialNightIsIncomplete) {
  EXPECT_EQ(verdict_of(gate(input_of(15)), {.partial = true}, {}).exit_code, 3);
}

TEST(GateRows, HaveARowACellAndEmptyValuesWhereNothingWasMeasured) {
  GateInput input = input_of(15);
  input.history.nights[3].cells[0].status = "failed";
  const std::vector<ResultRow> history = history_rows(gate(input));
  ASSERT_EQ(history.size(), kNightCells * 15);
  EXPECT_EQ(history[3].get("value"), "");
  EXPECT_EQ(history[3].get("accepted"), "0");
  EXPECT_EQ(history[4].get("accepted"), "1");
  EXPECT_EQ(history[14].get("accepted"), "0") << "tonight";
  EXPECT_EQ(history[14].get("run_id"), run_id(14));
}

}  // namespace
}  // namespace scalebench::gate_test
