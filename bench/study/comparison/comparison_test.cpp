// SPDX-License-Identifier: Apache-2.0
// Runs against each other: verdicts, what is missing or may not be tested, and joining across.
#include "bench/study/comparison/comparison.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/comparison/report.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Made {
  std::string algorithm = "ring";
  double seconds = 1e-3;
  std::string origin = "measured";
  std::string status = "ok";
};

ResultRow allreduce_of(const Made& made, int launch) {
  ResultRow row(allreduce_schema());
  row.set("case_id", "id-" + made.algorithm).set("origin", made.origin).set("status", made.status);
  row.set("algorithm", made.algorithm).set("transport", "mpi").set("dtype", "float");
  row.set("size_bytes", 1 << 20).set("ranks", 2);
  if (made.status != "ok") return row.set("note", "why");
  return row.set("seconds_median", made.seconds * (1 + 1e-3 * launch));
}

/// A run of `launches` launches, each with these cells.
ComparedRun run_of(const std::string& id, int launches, const std::vector<Made>& cells) {
  StoredRun run{"/nowhere", {}, {}};
  run.manifest.run_id = id;
  for (int launch = 0; launch < launches; ++launch) {
    LaunchRows rows{launch, {}, {}};
    for (const Made& made : cells) rows.cases.push_back(allreduce_of(made, launch));
    run.launches["allreduce.csv"].push_back(std::move(rows));
  }
  return {.manifest = run.manifest, .cells = cells_of(run)};
}

Comparison compared(std::vector<ComparedRun> runs, const std::string& across = {}) {
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].letter = static_cast<char>('A' + i);
  return compare_runs(runs, across);
}

TEST(Comparison, GivesEveryCellItsVerdict) {
  const auto found =
      compared({run_of("base", 8, {{"ring"}, {"naive"}, {"direct"}}),
                run_of("other", 8, {{"ring", 1.1e-3}, {"naive", 0.9e-3}, {"direct"}})});
  ASSERT_EQ(found.rows.size(), 3U);
  EXPECT_EQ(found.rows[0].get("label"), "allreduce direct mpi 1 MiB N=2") << "sorted";
  EXPECT_EQ(found.rows[0].get("verdict"), "SAME");
  EXPECT_EQ(found.rows[1].get("verdict"), "FASTER");
  EXPECT_EQ(found.rows[2].get("verdict"), "SLOWER");
  EXPECT_EQ(found.rows[2].get("run_id"), "other");
  EXPECT_EQ(found.rows[2].get("letter"), "B");
  EXPECT_EQ(found.rows[2].get("launches_b"), "8");
  EXPECT_NEAR(std::stod(found.rows[2].get("ratio")), 1.1, 1e-9);
  EXPECT_EQ(found.decided(), 3U);
}

TEST(Comparison, NamesNoTwoCellsAlike) {
  std::vector<ComparedRun> runs{run_of("a", 1, {{"ring"}}), run_of("b", 1, {{"ring"}})};
  runs[0].cells[0].row.set("memory", "host");
  runs[1].cells[0].row.set("memory", "pinned");
  EXPECT_EQ(compared(runs).rows[0].get("label"), "allreduce ring mpi 1 MiB N=2");
  runs[1].cells[0].key = "another case";
  const auto found = compared(runs);
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_EQ(found.rows[0].get("label"), "allreduce ring mpi 1 MiB N=2 host");
  EXPECT_EQ(found.rows[1].get("label"), "allreduce ring mpi 1 MiB N=2 pinned");
}

TEST(Comparison, CountsWhatIsMissingAndNeverPassesIt) {
  const auto found =
      compared({run_of("a", 8, {{"ring"}, {"naive"}, {"direct", 1e-3, "measured", "skipped"}}),
                run_of("b", 8,
                       {{"ring"},
                        {"native"},
                        {"naive", 1e-3, "measured", "wrong"},
                        {"direct", 1e-3, "measured", "skipped"}})});
  EXPECT_EQ(found.count(Verdict::missing), 2U);
  EXPECT_EQ(found.skipped, 1U);
  EXPECT_EQ(found.count(Verdict::same), 1U);
  EXPECT_EQ(found.rows[0].get("verdict"), "") << "skipped by both is no cell";
  EXPECT_EQ(found.rows[0].get("status"), "skipped");
  EXPECT_EQ(found.rows[1].get("verdict"), "MISSING");
  EXPECT_EQ(found.rows[1].get("status"), "wrong");
  EXPECT_EQ(found.rows[1].get("note"), "B wrong: why");
  EXPECT_EQ(found.rows[3].get("note"), "not in A") << "A has none that B has not";
  EXPECT_EQ(found.rows[3].get("ratio"), "");
}

TEST(Comparison, ShowsWhatIsOfAnotherOriginWithoutTestingIt) {
  const auto found = compared(
      {run_of("a", 8, {{"ring"}, {"naive"}}),
       run_of(
           "b", 8,
           {{"ring", 2e-3, "quoted"}, {"naive", 2e-3, "emulated"}, {"native", 1e-3, "imported"}})});
  EXPECT_EQ(found.not_tested, 3U);
  EXPECT_EQ(found.tested() + found.count(Verdict::missing), 0U);
  EXPECT_EQ(found.rows[0].get("note"), "A is measured, B is emulated: not compared");
  EXPECT_EQ(found.rows[1].get("note"), "B is quoted: shown, not tested");
  EXPECT_EQ(found.rows[2].get("note"), "B is imported: shown, not tested");
  for (const ResultRow& row : found.rows) {
    EXPECT_EQ(row.get("ratio") + row.get("p_value") + row.get("verdict"), "");
    EXPECT_NE(row.get("seconds_b"), "");
  }
}

TEST(Comparison, PairsTheCellsOfEachOrigin) {
  const Made slow{"ring", 2e-3, "emulated"}, fast{"ring", 1e-3};
  const auto one = run_of("one", 8, {slow}), both = run_of("both", 8, {fast, slow});
  for (const auto& runs : {std::vector{one, both}, std::vector{both, one}}) {
    const auto found = compared(runs);
    EXPECT_EQ(found.count(Verdict::same), 1U);
    EXPECT_EQ(found.count(Verdict::missing), 1U);
    EXPECT_EQ(found.not_tested, 0U);
    for (const ResultRow& row : found.rows) {
      const bool same = row.get("verdict") == "SAME";
      EXPECT_EQ(row.get("origin"), same ? "emulated" : "measured");
      EXPECT_EQ(row.get("label"), "allreduce ring mpi 1 MiB N=2 " + row.get("origin"));
    }
  }
}

TEST(Comparison, OfSingleLaunchesHasNoIntervalAndNoVerdict) {
  const auto found = compared({run_of("a", 1, {{"ring"}}), run_of("b", 1, {{"ring", 3e-3}})});
  EXPECT_EQ(found.rows[0].get("verdict"), "UNDECIDED");
  EXPECT_EQ(found.rows[0].get("ratio_low") + found.rows[0].get("ratio_high"), "") << "never 3 ± 0";
  EXPECT_EQ(found.rows[0].get("smallest_effect"), "");
  EXPECT_EQ(found.rows[0].get("rounds_needed"), "4");
}

TEST(Comparison, CorrectsOverTheCellsOfAllRuns) {
  const auto base = run_of("a", 4, {{"ring"}});
  const auto other = run_of("b", 4, {{"ring", 1.2e-3}});
  EXPECT_EQ(compared({base, other}).count(Verdict::slower), 1U);
  const auto found = compared({base, other, other});
  EXPECT_EQ(found.count(Verdict::slower), 0U) << "2 cells of 4 launches: p = 2 * 0.029";
  EXPECT_EQ(found.count(Verdict::undecided), 2U);
  EXPECT_EQ(found.rows[1].get("letter"), "C");
  EXPECT_EQ(found.rows[1].get("rounds_needed"), "5");
}

TEST(Comparison, TestsEachRunAsItWasMeasured) {
  const auto base = run_of("a", 4, {{"ring"}});
  const auto many = run_of("b", 20, {{"ring", 1.2e-3}, {"naive"}});
  EXPECT_EQ(compared({base, many, many}).count(Verdict::slower), 2U)
      << "4 against 20: p of two cells is at least 2 * 0.0002";
  // A third run that was not measured in turns changes nothing of the one that was.
  auto a = run_of("a", 6, {{"ring"}, {"naive"}, {"direct"}}), b = a, c = run_of("c", 6, {{"ring"}});
  a.manifest.pair = b.manifest.pair = "turns";
  b.cells[0].seconds = std::vector<double>(6, 1.2e-3);
  const auto found = compared({a, b, c});
  EXPECT_EQ(found.paired, std::set<char>{'B'});
  EXPECT_EQ(found.rows[0].get("verdict"), "UNDECIDED") << "six rounds: 4 * 2 / 2^6";
  EXPECT_EQ(found.rows[0].get("rounds_needed"), "8");
  EXPECT_FALSE(found.differ_apart);
}

TEST(Comparison, PairsTwoCasesOfOneRunByRound) {
  const auto run = run_of("a", 6, {{"ring"}});
  EXPECT_EQ(compared({run, run}).paired, std::set<char>{'B'}) << "as --across compares them";
}

TEST(Comparison, SaysWhereRunsThatTookTurnsHaveNoRoundInCommon) {
  auto a = run_of("a", 3, {{"ring"}}), b = a;
  a.manifest.pair = b.manifest.pair = "turns";
  for (Cell& cell : b.cells) {
    for (int& round : cell.rounds) round += 100;
  }
  const auto found = compared({a, b});
  EXPECT_EQ(found.rows[0].get("verdict"), "MISSING");
  EXPECT_EQ(found.rows[0].get("note"), "measured in turns, but no round has both");
}

TEST(CellJoin, JoinsAcrossWhatIsCompared) {
  auto a = run_of("a", 8, {{"ring"}}), b = run_of("b", 8, {{"direct", 1.2e-3}});
  const Comparison apart = compared({a, b});
  EXPECT_EQ(apart.count(Verdict::missing), 2U);
  EXPECT_EQ(apart.rows[0].get("note"),
            "not in B; nearest there: allreduce direct mpi 1 MiB N=2 (algorithm: ring -> direct), "
            "joined by --across algorithm");
  join_across(a.cells, "algorithm");
  join_across(b.cells, "algorithm");
  const auto found = compared({a, b}, "algorithm");
  EXPECT_EQ(found.count(Verdict::slower), 1U);
  EXPECT_THAT(found.rows[0].get("label"), HasSubstr(" (algorithm: ring -> direct)"));
}

/// A run of one cell, an epoch or an allreduce, with what an import says or leaves empty.
ComparedRun run_saying(ResultRow row, const std::map<std::string, std::string>& said) {
  row.set("case_id", "id").set("origin", "measured").set("status", "ok").set("ranks", 2);
  row.set(time_column(row.schema()), 1);
  for (const auto& [column, text] : said) row.set(column, text);
  StoredRun run{"/nowhere", {}, {}};
  run.launches[std::string(row.schema().file)].push_back({0, {row}, {}});
  return {.manifest = run.manifest, .cells = cells_of(run)};
}

std::size_t joined(ComparedRun a, ComparedRun b, const std::string& across) {
  for (ComparedRun* const run : {&a, &b}) join_across(run->cells, across);
  const std::vector<ResultRow> rows = compared({a, b}, across).rows;
  return static_cast<std::size_t>(std::ranges::count_if(rows, [](const ResultRow& row) {
    return !row.get("seconds_a").empty() && !row.get("seconds_b").empty();
  }));
}

TEST(CellJoin, JoinsRunsThatDoNotSayTheUsual) {
  const ResultRow epoch(epoch_schema()), throughput(throughput_schema());
  const auto beside_none = [&](const char* format) {
    return joined(run_saying(throughput, {{"memory_format", format}}), run_saying(throughput, {}),
                  "device");
  };
  EXPECT_EQ(beside_none("contiguous"), 1U);
  EXPECT_EQ(beside_none("channels_last"), 0U);
  EXPECT_EQ(joined(run_saying(epoch, {{"settings", "loader_threads=2"}}), run_saying(epoch, {}),
                   "device"),
            0U);
}

TEST(CellJoin, RefusesTwoCellsThatBecomeOneAndSaysHowToChoose) {
  auto run = run_of("a", 4, {{"ring"}, {"direct"}});
  EXPECT_THAT(message_of<UsageError>([&] { join_across(run.cells, "algorithm"); }),
              HasSubstr("--where A:algorithm=VALUE"));
  keep_where(run.cells, "algorithm", {"ring"});
  EXPECT_EQ(run.cells.size(), 1U);
  join_across(run.cells, "algorithm");
  EXPECT_THAT(message_of<UsageError>([&] { join_across(run.cells, "algoritm"); }),
              HasSubstr("did you mean 'algorithm'?"));
  EXPECT_THAT(message_of<UsageError>([&] { keep_where(run.cells, "modle", {"x"}); }),
              HasSubstr("did you mean 'model'?"));
}

TEST(CellJoin, KeepsTheOriginsOfARunApart) {
  ComparedRun one = run_of("one", 8, {{"naive", 2e-3, "emulated"}}),
              both = run_of("both", 8, {{"ring"}, {"ring", 2e-3, "emulated"}});
  for (ComparedRun* const run : {&one, &both}) join_across(run->cells, "algorithm");
  const auto found = compared({one, both});
  EXPECT_EQ(found.count(Verdict::same), 1U);
  EXPECT_EQ(found.count(Verdict::missing), 1U) << "what is measured";
  // Of one origin each they find each other, and are shown.
  ComparedRun measured = run_of("measured", 8, {{"ring"}});
  join_across(measured.cells, "algorithm");
  EXPECT_EQ(compared({one, measured}).not_tested, 1U);
}

TEST(CellJoin, LeavesOutWhatLacksTheColumn) {
  auto run = run_saying(ResultRow(allreduce_schema()), {{"cache", "warm"}});
  keep_where(run.cells, "cache", {"warm"});
  EXPECT_EQ(run.cells.size(), 1U);
  keep_where(run.cells, "settings", {"loader_threads=2"});
  EXPECT_TRUE(run.cells.empty()) << "an allreduce loads nothing";
}

TEST(CellJoin, HasNoHintWhereNothingIsNear) {
  const auto a = run_of("a", 4, {{"ring"}});
  auto b = run_of("b", 4, {{"direct"}});
  for (const char* const column : {"transport", "dtype"}) b.cells[0].row.set(column, "other");
  const std::vector<ResultRow> far = compared({a, b}).rows;
  EXPECT_EQ(far[0].get("note"), "not in B") << "three parameters differ";
  EXPECT_EQ(far[1].get("note"), "not in A");
  b.cells[0].row.set("transport", "mpi");
  EXPECT_THAT(compared({a, b}).rows[0].get("note"),
              AllOf(HasSubstr("algorithm: "), HasSubstr("dtype: "), Not(HasSubstr("--across"))))
      << "no one column joins them";
}

// How it is told.

CompareReport report_of(std::vector<ResultRow> cells, std::vector<Cost> costs) {
  CompareReport report;
  report.runs.resize(2);
  report.runs[1].letter = 'B';
  report.comparison.rows = std::move(cells);
  report.costs = std::move(costs);
  return report;
}

TEST(Report, NamesTheBoundOfAPThatWouldRoundToNothing) {
  ResultRow row(comparison_schema());
  row.set("letter", "B").set("label", "cell").set("status", "ok").set("p_holm", 1e-5);
  const CompareReport report = report_of({row}, {});
  EXPECT_THAT(compare_table(report), HasSubstr(" <0.001 "));
}

TEST(Report, HasOneTableOfCosts) {
  Cost cost{{"p3", "V100", 4, 8, 3.6, "today", "list"}, "run", "id", "measured"};
  cost.label = "epoch mlp N=4";
  cost.images = 50000;
  cost.whole = true;
  cost.seconds = {2000};
  Cost part = cost;
  part.whole = false;
  part.run_id = "other";
  const std::string text = compare_table(report_of({}, {cost, part}));
  EXPECT_THAT(text, AllOf(HasSubstr("2.00    -  epoch mlp N=4  run run\n"),
                          HasSubstr("2.00 part  epoch mlp N=4  run other\n")));
}

}  // namespace
}  // namespace scalebench
