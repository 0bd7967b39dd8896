// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/result_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace scalebench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ResultRow scaling_row(const std::string& efficiency) {
  ResultRow row(scaling_schema());
  row.set("status", "ok").set("origin", "measured").set("model", "mlp").set("ranks", 2);
  row.set("gradient_sync", "mirrored").set("scaling", "strong").set("allreduce", "ring");
  row.set("transport", "mpi").set("efficiency", efficiency);
  return row;
}

TEST(MetricLines, OneLineForEachMetricOfACase) {
  EXPECT_EQ(metric_lines(std::vector{scaling_row("0.83")}),
            "scalebench: metric=efficiency model=mlp gradient_sync=mirrored scaling=strong "
            "allreduce=ring transport=mpi ranks=2 origin=measured value=0.83\n");
}

TEST(MetricLines, AreFoundByTheDocumentedExpression) {
  ResultRow row(throughput_schema());
  row.set("status", "ok").set("origin", "measured").set("model", "mlp").set("ranks", 4);
  row.set("batch", 128).set("rank", "all").set("images_per_s", 123456.75);
  const std::string log = "noise value=1\n" + metric_lines(std::vector{scaling_row("8e-05")}) +
                          metric_lines(std::vector{row});
  std::smatch match;
  ASSERT_TRUE(std::regex_search(
      log, match, std::regex("scalebench: metric=efficiency .*ranks=2 .*value=([0-9.eE+-]+)")));
  EXPECT_EQ(match[1], "8e-05");
  ASSERT_TRUE(std::regex_search(
      log, match, std::regex("scalebench: metric=images_per_s model=mlp .*value=([0-9.eE+-]+)")));
  EXPECT_EQ(match[1], "123456.75");
}

ResultRow step_row(const std::string& dtype, const std::string& format, double rate) {
  ResultRow row(throughput_schema());
  row.set("case_id", dtype + format).set("status", "ok").set("origin", "measured");
  row.set("model", "mlp").set("dtype", dtype).set("memory_format", format).set("step", "eager");
  row.set("batch", 16).set("ranks", 1).set("rank", "all").set("seconds_median", 0.5);
  return row.set("images_per_s", rate);
}

std::string name_of_line(const std::string& line) { return line.substr(0, line.find(" value=")); }

TEST(MetricLines, HaveNamesThatTellThemApart) {
  const std::string name =
      "scalebench: metric=images_per_s model=mlp batch=16 ranks=1 origin=measured";
  EXPECT_EQ(metric_lines({step_row("float", "contiguous", 1)}), name + " value=1\n");
  EXPECT_EQ(
      metric_lines({step_row("float", "contiguous", 1), step_row("bfloat16", "contiguous", 2)}),
      name + " dtype=float value=1\n" + name + " dtype=bfloat16 value=2\n");
  ResultRow larger = step_row("float", "channels_last", 4);
  larger.set("batch", 64);
  std::istringstream lines(metric_lines(
      {step_row("float", "contiguous", 1), step_row("float", "channels_last", 2), larger}));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  EXPECT_EQ(all[0], name + " memory_format=contiguous value=1");
  EXPECT_EQ(name_of_line(all[2]),
            "scalebench: metric=images_per_s model=mlp batch=64 ranks=1 origin=measured")
      << "short where nothing else differs";
  // What has no column is in a case's id alone, as the seed.
  ResultRow a = scaling_row("0.5"), b = scaling_row("0.25");
  a.set("case_id", "aa");
  b.set("case_id", "bb").set("dataset", "x");
  EXPECT_THAT(metric_lines({a, b}),
              AllOf(HasSubstr(" dataset=none value=0.5"), HasSubstr(" dataset=x value=0.25")));
  EXPECT_THAT(
      metric_lines({a, b.set("dataset", "")}),
      AllOf(HasSubstr("measured case_id=aa value=0.5"), HasSubstr(" case_id=bb value=0.25")));
}

TEST(MetricLines, WhatWasNotMeasuredHasNone) {
  ResultRow failed = scaling_row("0.5");
  failed.set("status", "failed");
  ResultRow one_rank(throughput_schema());
  one_rank.set("status", "ok").set("rank", 0).set("images_per_s", 5);
  EXPECT_EQ(metric_lines(std::vector{failed, scaling_row(""), one_rank}), "");
}

TEST(MetricLines, LabelsAreWords) {
  ResultRow row = scaling_row("0.5");
  row.set("model", "my net=1\nvalue=2").set("transport", "");
  const std::string line = metric_lines(std::vector{row});
  EXPECT_NE(line.find(" model=my_net_1_value_2 "), std::string::npos) << line;
  EXPECT_NE(line.find(" transport=none "), std::string::npos) << line;
}

ResultRow measured() {
  ResultRow row(scaling_schema());
  row.set("origin", "measured").set("status", "ok").set("model", "mlp").set("ranks", 2);
  row.set("gradient_sync", "mirrored").set("scaling", "strong").set("h_seconds", 10);
  row.set("ideal_seconds", 5).set("seconds_median", 6.25).set("speedup", 1.6);
  return row.set("efficiency", 0.8).set("test_accuracy", 0.871);
}

std::string last_line(const ResultRow& row) {
  std::istringstream table(scaling_table({row}));
  std::string last;
  for (std::string line; std::getline(table, line);) last = line;
  return last;
}

TEST(ScalingTable, ShowsWhatWasMeasuredAgainstTheIdeal) {
  const std::string line = last_line(measured());
  EXPECT_THAT(line, StartsWith("mlp        mirrored      strong    2 "));
  for (const char* text : {" 10.000 ", " 5.000 ", " 6.250 ", " 1.60 ", " 80.0 % ", " 87.1 %"}) {
    EXPECT_THAT(line, HasSubstr(text));
  }
  EXPECT_THAT(line, Not(HasSubstr("["))) << "one launch has no interval";
}

TEST(ScalingTable, ShowsIntervalsWhereThereAreSome) {
  ResultRow row = measured();
  row.set("seconds_ci_low", 6).set("seconds_ci_high", 6.5);
  row.set("speedup_ci_low", 1.54).set("speedup_ci_high", 1.67);
  EXPECT_THAT(last_line(row),
              AllOf(HasSubstr("6.250 [6.000, 6.500]"), HasSubstr("1.60 [1.54, 1.67]")));
}

TEST(ScalingTable, ShowsAnUnknownNumberAsADash) {
  ResultRow row = measured();
  row.set("efficiency", "").set("speedup", "").set("note", "no speedup: H is measured");
  row.set("origin", "emulated");
  const std::string line = last_line(row);
  EXPECT_THAT(line, Not(HasSubstr("80.0 %")));
  EXPECT_THAT(line, HasSubstr(" - "));
  EXPECT_THAT(line, EndsWith("  emulated  no speedup: H is measured"));
}

/// Of two [[epoch]] of one model.
std::vector<ResultRow> two_trainings() {
  std::vector<ResultRow> rows{measured(), measured(), measured(), measured().set("ranks", 4)};
  rows[0].set("case_id", "a").set("optimizer", "adam").set("samples", 1000);
  rows[1].set("case_id", "b").set("optimizer", "sgd").set("samples", 4000).set("efficiency", 0.7);
  rows[2].set("case_id", "c").set("optimizer", "sgd").set("samples", 4000);
  return rows;
}

TEST(ScalingTable, TellsTrainingsOfAModelApart) {
  const std::string table = scaling_table(two_trainings());
  for (const char* const end :
       {" 87.1 %  adam samples 1000\n", " 87.1 %  sgd samples 4000 case b\n",
        " 87.1 %  sgd samples 4000 case c\n", " 87.1 %\n"}) {
    EXPECT_THAT(table, HasSubstr(end));
  }
  EXPECT_THAT(answer_of(two_trainings(), {}),
              StartsWith("mlp with mirrored on 2 ranks (sgd samples 4000 case b) is farthest"));
  EXPECT_THAT(metric_lines(two_trainings()),
              AllOf(HasSubstr("origin=measured optimizer=adam samples=1000 value=0.8\n"),
                    HasSubstr("optimizer=sgd samples=4000 case_id=b value=0.7\n"),
                    HasSubstr("ranks=4 origin=measured value=0.8\n")));
}

TEST(ScalingTable, SaysWhyThereIsNoNumber) {
  ResultRow row = measured();
  row.set("status", "failed").set("note", "exit code 137");
  EXPECT_THAT(last_line(row), EndsWith("  2 failed: exit code 137"));
}

// The answer.

ResultRow loss(const ResultRow& scaling, const char* name, double seconds) {
  ResultRow row(losses_schema());
  for (const char* const column : {"case_id", "origin", "ranks", "nodes"}) {
    row.set(column, scaling.get(column));
  }
  return row.set("status", "ok").set("loss", name).set("seconds", seconds);
}

TEST(Answer, NamesTheTrainingFarthestFromTheIdealAndItsLargestLoss) {
  ResultRow worst = measured(), better = measured(), base = measured(), broken = measured();
  worst.set("largest_loss", "compute").set("lost_seconds", 1.25);
  better.set("case_id", "b").set("model", "resnet20").set("efficiency", 0.9);
  base.set("gradient_sync", "none").set("efficiency", 0.5);  // a loop that synchronises nothing
  broken.set("status", "failed").set("ranks", 4).set("efficiency", 0.1);
  const std::vector losses{loss(better, "compute", 9), loss(worst, "wait_static", 0.25),
                           loss(worst, "compute", 1)};
  EXPECT_EQ(
      answer_of({better, base, broken, worst}, losses),
      "mlp with mirrored on 2 ranks is farthest from H/N, at an efficiency of 80.0 %: 1.250 s "
      "lost. Its largest loss is compute, 1.000 s.\n");
  EXPECT_THAT(answer_of({better}, losses),
              EndsWith("; no single loss can be told from nothing.\n"));
  worst.set("scaling", "weak");
  EXPECT_EQ(answer_of({worst}, {}),
            "mlp with mirrored, weak, on 2 ranks is farthest from H/N, at "
            "an efficiency of 80.0 %.\n")
      << "no loss was looked for";
  worst.set("gradient_sync", "").set("scaling", "strong");
  EXPECT_THAT(answer_of({worst}, {}), testing::StartsWith("mlp on 2 ranks is farthest"));
  EXPECT_EQ(answer_of({base, broken}, losses), "");
}

TEST(Answer, NamesNoLossOfAnotherCaseThatLooksTheSame) {
  ResultRow worst = measured();
  worst.set("case_id", "a")
      .set("nodes", 1)
      .set("largest_loss", "transfer")
      .set("lost_seconds", 1.25);
  std::vector<ResultRow> losses;
  for (const auto& [column, other] :
       {std::pair{"case_id", "b"}, {"origin", "emulated"}, {"ranks", "4"}, {"nodes", "2"}}) {
    losses.push_back(loss(worst, "transfer", 9).set(column, other));
  }
  losses.push_back(loss(worst, "transfer", 0.5));
  EXPECT_THAT(answer_of({worst}, losses), EndsWith("Its largest loss is transfer, 0.500 s.\n"));
}

TEST(Answer, AndTheTableShowShortEpochsToo) {
  ResultRow row = measured();
  row.set("h_seconds", 0.0004321).set("ideal_seconds", 0.00021605).set("seconds_median", 0.00025);
  row.set("seconds_ci_low", 0.00024).set("seconds_ci_high", 0.00027);
  EXPECT_THAT(last_line(row),
              AllOf(HasSubstr("    432 us    216 us "), HasSubstr("  250 us [240, 270] ")));
  row.set("largest_loss", "wait_static").set("lost_seconds", 0.000034);
  EXPECT_THAT(answer_of({row}, {loss(row, "wait_static", 0.000025)}),
              EndsWith(": 34.0 us lost. Its largest loss is wait_static, 25.0 us.\n"));
}

TEST(Answer, IsTheLastOfWhatARunIsShownBy) {
  EXPECT_THAT(result_text({measured()}, {}, {}), EndsWith("\n\n" + answer_of({measured()}, {})));
}

TEST(Rates, AreWhatARunWithoutEpochsIsShownBy) {
  ResultRow ring(allreduce_schema());
  ring.set("algorithm", "ring").set("transport", "mpi").set("ranks", 2).set("status", "ok");
  ring.set("seconds_median", 0.0125).set("busbw_gb_per_s", 1.5);
  ring.set("busbw_ci_low_gb_per_s", 1.4).set("busbw_ci_high_gb_per_s", 1.6);
  ResultRow step(throughput_schema());
  step.set("model", "mlp").set("ranks", 2).set("rank", "all").set("status", "ok");
  step.set("seconds_median", 0.5).set("images_per_s", 128);
  ResultRow skipped = step;
  skipped.set("status", "skipped").set("note", "no GPU");
  ResultRow of_rank = step;
  of_rank.set("rank", 1);
  const std::string text = result_text({}, {}, {{step, of_rank, skipped}, std::vector(61, ring)});
  EXPECT_THAT(text, HasSubstr("500 ms  128.0 images/s\n"));
  EXPECT_THAT(text, HasSubstr("1 skipped; throughput.csv says why\n"));
  EXPECT_THAT(text, HasSubstr("12.5 ms  1.500 [1.400, 1.600] GB/s busbw\n"));
  EXPECT_THAT(text, EndsWith("... and 1 more in allreduce.csv\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 + 1 + 60 + 1);
  EXPECT_THAT(result_text({measured()}, {}, {{step}}), Not(HasSubstr("images/s")));
  ring.set("note", "injected: slower=0.1; and more");
  EXPECT_THAT(result_text({}, {}, {{ring}}), EndsWith(" GB/s busbw  injected: slower=0.1\n"));
  step.set("model", "\x1b[31mred");
  EXPECT_THAT(result_text({}, {}, {{step}}), Not(HasSubstr("\x1b"))) << "as an import has it";
}

TEST(Rates, AreToldApart) {
  const std::string text =
      result_text({}, {},
                  {{step_row("float", "contiguous", 1), step_row("float", "channels_last", 2),
                    step_row("bfloat16", "", 3)}});
  EXPECT_THAT(text, AllOf(HasSubstr("\nthroughput mlp batch 16 N=1 contiguous "),
                          HasSubstr("\nthroughput mlp batch 16 N=1 channels_last "),
                          HasSubstr("\nthroughput mlp bfloat16 batch 16 N=1 ")));
}

TEST(ScalingTable, IsEmptyWithoutRows) { EXPECT_EQ(scaling_table({}), ""); }

TEST(MetricLines, TellChosenBuffersApart) {
  ResultRow row(allreduce_schema());
  row.set("status", "ok").set("algorithm", "ring").set("busbw_gb_per_s", 2);
  const std::string unnamed = metric_lines(std::vector{row});
  EXPECT_EQ(metric_lines(std::vector{row.set("pages", "default")}), unnamed);
  EXPECT_NE(metric_lines(std::vector{row.set("pages", "huge")}), unnamed);
  row.set("pages", "");
  EXPECT_EQ(metric_lines(std::vector{row.set("register", 1)}), unnamed);
  EXPECT_NE(metric_lines(std::vector{row.set("register", 0)}), unnamed);
}

}  // namespace
}  // namespace scalebench
