// SPDX-License-Identifier: Apache-2.0
// From cells to the word of a night.
#include "bench/study/nightly/night.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/record/file.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/nightly/record.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cell cell_of(const std::string& name, double seconds, int rounds = 12) {
  Cell cell{"allreduce/" + name + "/2",
            CellFamily::bandwidth,
            ResultRow(allreduce_schema()),
            {},
            {},
            "ok",
            ""};
  cell.row.set("case_id", name).set("origin", "measured").set("algorithm", name);
  cell.row.set("ranks", 2).set("status", "ok");
  for (int i = 0; i < rounds; ++i) cell.seconds.push_back(seconds * (1 + 0.002 * (i % 3)));
  cell.rounds.resize(cell.seconds.size());
  std::iota(cell.rounds.begin(), cell.rounds.end(), 0);
  return cell;
}

std::vector<Cell> cells_of_all(double seconds, int rounds = 12) {
  return {cell_of("a", seconds, rounds), cell_of("b", seconds, rounds)};
}

/// A night in which nothing has happened, after `nights` good ones.
NightInput quiet(int nights) {
  NightInput input;
  input.origin = "measured";
  input.tonight = cells_of_all(1);
  for (int night = 0; night < nights; ++night) {
    for (const Cell& cell : input.tonight) {
      ResultRow& row = input.history.emplace_back(history_schema());
      row.set("run_id", night).set("origin", "measured").set("key", cell.key);
      row.set("label", "its label").set("machine_seconds", 1.0).set("machine_verdict", "SAME");
    }
  }
  return input;
}

NightInput paired(double accepted, double tonight) {
  NightInput input = quiet(9);
  input.paired = true;
  input.accepted = cells_of_all(accepted);
  input.tonight = cells_of_all(1);
  input.tonight[0] = cell_of("a", tonight);
  return input;
}

std::string title_of(const NightInput& input) { return judge_night(input).title(); }

TEST(Night, SaysHowManyNightsTheMachineIsKnownFrom) {
  EXPECT_EQ(title_of(quiet(0)), "PASS (machine: 0 of 8 nights)");
  EXPECT_EQ(title_of(quiet(5)), "PASS (machine: 5 of 8 nights)");
  EXPECT_EQ(title_of(quiet(8)), "PASS");
  EXPECT_EQ(judge_night(quiet(5)).cells[0].word, "UNDECIDED");
  EXPECT_EQ(judge_night(quiet(8)).cells[0].word, "SAME");
}

TEST(Night, AskedOfTheBuildSuspectsAreMeasuredAgain) {
  NightInput input = paired(1, 1.3);
  EXPECT_THAT(suspects_of(input), ElementsAre("allreduce/a/2"));
  EXPECT_EQ(title_of(input), "UNSURE: 1 suspect without an answer");
  input.accepted_again = cells_of_all(1);
  input.tonight_again = input.tonight;
  const Night night = judge_night(input);
  EXPECT_EQ(night.title(), "SLOWER: 1 cell slower than the accepted build");
  EXPECT_EQ(night.cells[0].key, "allreduce/a/2") << "what needs a look first";
  // Change and times have one sign.
  EXPECT_NEAR(night.cells[0].change(), 0.3, 0.01);
  EXPECT_LT(night.cells[0].before(), night.cells[0].after());
  EXPECT_TRUE(suspects_of(quiet(9)).empty());
}

TEST(Night, TheMachineIsAskedByTheAcceptedPrograms) {
  // Both are slower than on earlier nights: no difference between builds, but one to the past.
  NightInput input = paired(1.2, 1.2);
  input.tonight = cells_of_all(1.2);
  for (ResultRow& row : input.history) {
    if (row.get("run_id") == "8") row.set("machine_verdict", "WATCHED").set("machine_seconds", 1.2);
  }
  Night night = judge_night(input);
  EXPECT_EQ(night.title(), "MACHINE: 2 cells slower than on earlier nights");
  EXPECT_TRUE(night.cells[0].of_machine);
  EXPECT_NEAR(night.cells[0].change(), 0.2, 0.01);
  // A build that is slower is worse news.
  input.tonight[0] = cell_of("a", 1.6);
  input.tonight_again = input.tonight;
  input.accepted_again = input.accepted;
  night = judge_night(input);
  EXPECT_EQ(night.word, "SLOWER");
  EXPECT_EQ(night.count("MACHINE"), 1U);
}

TEST(Night, WhatIsMissingIsNamedAndNoPass) {
  NightInput input = quiet(9);
  input.tonight.pop_back();
  const Night night = judge_night(input);
  EXPECT_EQ(night.title(), "UNSURE: 1 cell missing");
  EXPECT_EQ(night.cells[0].label, "its label");
  input = quiet(9);
  input.tonight[0].status = "wrong";
  input.tonight[0].note = "3 elements";
  EXPECT_EQ(judge_night(input).cells[0].note, "wrong: 3 elements");
  input = quiet(9);
  input.tonight[0].status = "skipped";
  EXPECT_EQ(title_of(input), "UNSURE: 1 cell missing") << "it was measured before";
  input.history.clear();
  EXPECT_EQ(judge_night(input).cells.size(), 1U) << "it never was";
  input.failed_launches = {"allreduce-n2"};
  EXPECT_EQ(title_of(input), "UNSURE: 1 launch failed");
  input.tonight.clear();
  EXPECT_EQ(judge_night(input).word, "NOTHING MEASURED");
}

TEST(Night, WhatCannotBeComparedIsUnsure) {
  NightInput input = quiet(9);
  input.why_not = "the accepted build cannot be used: libmpi.so.40 is missing";
  EXPECT_EQ(title_of(input), "UNSURE: " + input.why_not);
  EXPECT_EQ(judge_night(input).count("UNDECIDED"), 2U);
  input = paired(1, 1);
  input.tonight = cells_of_all(1, 5);
  input.accepted = cells_of_all(1, 5);
  EXPECT_THAT(title_of(input), HasSubstr("UNSURE: blind"));
  input = quiet(9);
  input.early = "the clock says no";
  EXPECT_EQ(title_of(input), "UNSURE: ended early: the clock says no");
}

TEST(Night, ThatCouldNotHaveSeenIsBlind) {
  NightInput input = quiet(12);
  for (ResultRow& row : input.history) {
    row.set("machine_seconds", row.get("run_id") < "2" ? 1.5 : 1.0);  // "0", "1", "10", "11"
  }
  EXPECT_EQ(title_of(input), "UNSURE: blind: fewer than half of the cells could show 10 %");
}

TEST(NightRecord, TheFolderOfAnotherStudyIsNotPublishedInto) {
  const TemporaryFolder night, to;
  for (const char* const name :
       {"report.html", "report.md", "junit.xml", "scalebench.prom", "history.csv"}) {
    night.write(name, "one");
  }
  night.write(kNightRecord, R"({"study": "quick"})");
  publish(night.path(), to.path());
  night.write(kNightRecord, R"({"study": "full"})");
  EXPECT_THROW(publish(night.path(), to.path()), UsageError);
}

/// A night of that exit code in `results`, as it was written; returns what of it is kept.
std::string kept_of(const std::filesystem::path& results, NightRecord record, int settled) {
  write_night(results, record);
  record.exit_code = settled;
  settle_night(results, record);
  const auto study = study_folder(results, record.run.study, record.run.environment);
  const auto last = study / "last_success.json";
  const std::string written = read_file(results / "nightly" / record.run.run_id / kNightRecord);
  const auto said = nlohmann::json::parse(written)["last_success"];
  return fmt::format("{} {}", std::filesystem::exists(last) ? "kept" : "none",
                     said.is_null() ? "never" : said["run"].get<std::string>());
}

TEST(NightRecord, OnlyAPublishedSuccessIsTheLastOne) {
  const TemporaryFolder results;
  NightRecord record;
  record.run.study = "quick";
  record.run.run_id = "1";
  EXPECT_EQ(kept_of(results.path(), record, 3), "none never") << "it could not be published";
  record.run.run_id = "2";
  record.rehearsal = "slower=0.3";
  EXPECT_EQ(kept_of(results.path(), record, 0), "none never");
  record.rehearsal = "";
  record.run.run_id = "3";
  EXPECT_EQ(kept_of(results.path(), record, 0), "kept 3");
  record.run.run_id = "4";
  EXPECT_EQ(kept_of(results.path(), record, 3), "kept 3");
}

std::vector<PlannedLaunch> plan_of(const std::vector<std::string>& names) {
  std::vector<PlannedLaunch> plan;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : names) {
      PlannedLaunch& launch = plan.emplace_back();
      launch.number = static_cast<int>(plan.size());
      launch.round = round;
      launch.name = name;
      launch.guess_seconds = name == "long" ? 100 : 1;
    }
  }
  return plan;
}

TEST(RerunPlan, HoldsTheSuspectsAndAControl) {
  std::vector<Cell> cells;
  for (const auto& [entry, key] : {std::pair("many", "a"),
                                   {"many", "b"},
                                   {"many", "c"},
                                   {"one", "d"},
                                   {"long", "e"},
                                   {"short", "f"},
                                   {"brief", "g"}}) {
    cells.push_back(cell_of(key, 1));
    cells.back().key = key;
    cells.back().row.set("entry", entry);
  }
  const auto names = [&](const std::set<std::string>& suspects) {
    std::vector<std::string> found;
    const auto plan = plan_of({"many", "one", "long", "short", "brief"});
    for (const PlannedLaunch& launch : plan_holding(plan, cells, suspects)) {
      EXPECT_EQ(launch.number, static_cast<int>(found.size()) + 1);
      found.push_back(launch.name);
    }
    return found;
  };
  EXPECT_THAT(names({"a"}), ElementsAre("many", "one", "many", "one"))
      << "the first of the shortest";
  EXPECT_THAT(names({"d", "f", "g", "a"}), ElementsAre("many", "one", "long", "short", "brief",
                                                       "many", "one", "long", "short", "brief"));
  EXPECT_THAT(names({"a", "b", "c", "d", "e", "f", "g"}).size(), 10U) << "none is left";
}

}  // namespace
}  // namespace scalebench
