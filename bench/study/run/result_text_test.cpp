// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/result_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

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
  row.set("case_id", "c0ffee")
      .set("gradient_sync", "mirrored")
      .set("scaling", "strong")
      .set("efficiency", efficiency);
  return row;
}

TEST(MetricLines, OneLineForEachCase) {
  EXPECT_EQ(metric_lines(std::vector{scaling_row("0.83")}),
            "scalebench: model=mlp gradient_sync=mirrored scaling=strong ranks=2 nodes=none "
            "origin=measured case_id=c0ffee efficiency=0.83 speedup=none measured_seconds=none\n");
}

TEST(MetricLines, AreFoundByTheDocumentedExpression) {
  ResultRow row(throughput_schema());
  row.set("status", "ok").set("origin", "measured").set("model", "mlp").set("ranks", 4);
  row.set("batch", 128).set("rank", "all").set("images_per_s", 123456.75);
  const std::string log = "noise value=1\n" + metric_lines(std::vector{scaling_row("8e-05")}) +
                          metric_lines(std::vector{row});
  std::smatch match;
  ASSERT_TRUE(std::regex_search(
      log, match, std::regex("scalebench: model=mlp .*ranks=2 .*efficiency=([0-9.eE+-]+)")));
  EXPECT_EQ(match[1], "8e-05");
  ASSERT_TRUE(std::regex_search(log, match,
                                std::regex("scalebench: model=mlp .*images_per_s=([0-9.eE+-]+)")));
  EXPECT_EQ(match[1], "123456.75");
}

ResultRow step_row(const std::string& dtype, const std::string& format, double rate) {
  ResultRow row(throughput_schema());
  row.set("case_id", dtype + format).set("status", "ok").set("origin", "measured");
  row.set("model", "mlp").set("dtype", dtype).set("memory_format", format).set("step", "eager");
  row.set("batch", 16).set("ranks", 1).set("rank", "all").set("seconds_median", 0.5);
  return row.set("images_per_s", rate);
}

TEST(MetricLines, TellCasesApartByTheirId) {
  ResultRow a = scaling_row("0.5"), b = scaling_row("0.25");
  b.set("case_id", "beef");
  EXPECT_THAT(metric_lines({a, b}), AllOf(HasSubstr("measured case_id=c0ffee efficiency=0.5"),
                                          HasSubstr("measured case_id=beef efficiency=0.25")));
}

TEST(MetricLines, WhatWasNotMeasuredHasNone) {
  ResultRow failed = scaling_row("0.5");
  failed.set("status", "failed");
  ResultRow one_rank(throughput_schema());
  one_rank.set("status", "ok").set("rank", 0).set("images_per_s", 5);
  EXPECT_EQ(metric_lines(std::vector{failed, one_rank}), "");
}

TEST(MetricLines, LabelsAreWords) {
  ResultRow row = scaling_row("0.5");
  row.set("model", "my net=1\nvalue=2").set("gradient_sync", "");
  const std::string line = metric_lines(std::vector{row});
  EXPECT_NE(line.find(" model=my_net_1_value_2 "), std::string::npos) << line;
  EXPECT_NE(line.find(" gradient_sync=none "), std::string::npos) << line;
}

/// A row of summary.csv: 6.25 s where half of 10 s is the ideal.
ResultRow measured() {
  ResultRow row(summary_schema());
  row.set("model", "mlp").set("strategy", "mirrored").set("scaling", "strong").set("ranks", 2);
  row.set("h_seconds", 10).set("ideal_seconds", 5).set("measured_seconds", 6.25);
  row.set("speedup", 1.6).set("efficiency", 0.8).set("lost_seconds", 1.25).set("rounds", 6);
  row.set("efficiency_ci_low", 0.75).set("efficiency_ci_high", 0.85);
  row.set("largest_loss", "compute").set("largest_loss_seconds", 1);
  row.set("largest_loss_seconds_ci_low", 0.5).set("largest_loss_seconds_ci_high", 1.5);
  return row.set("trust", "measured, 6 rounds, 95% of rounds");
}

ResultRow without_intervals(ResultRow row) {
  for (const char* const name : {"efficiency", "largest_loss_seconds"}) {
    row.set(std::string(name) + "_ci_low", "").set(std::string(name) + "_ci_high", "");
  }
  return row;
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
  for (const char* text : {" 10.0000 ", " 5.0000 ", " 6.2500 ", " 1.60 ", " 80.0 % [75.0, 85.0] ",
                           " 1.250 ", " compute 1.000 [0.500, 1.500] "}) {
    EXPECT_THAT(line, HasSubstr(text));
  }
  EXPECT_THAT(line, EndsWith(" measured, 6 rounds, 95% of rounds"));
  EXPECT_THAT(last_line(without_intervals(measured())), Not(HasSubstr("[")));
}

/// The numbers of a line, in order.
std::vector<double> numbers_in(const std::string& line) {
  const std::regex number("-?[0-9]+[.][0-9]+");
  std::vector<double> numbers;
  for (std::sregex_iterator i(line.begin(), line.end(), number), end; i != end; ++i) {
    numbers.push_back(std::stod(i->str()));
  }
  return numbers;
}

// Also of epochs of microseconds: what is printed agrees with a calculator to the last digit, up to
// the rounding of what is put into it.
TEST(ScalingTable, AgreesWithACalculator) {
  for (const auto& [h, t] : {std::pair(1.112, 0.633),
                             {65.41497, 34.88748},
                             {0.2300001, 0.0914},
                             {0.0004321, 0.00025},
                             {35000.4, 18123.9},
                             {14.0942, 7.0806}}) {
    ResultRow row = without_intervals(measured());
    row.set("h_seconds", h).set("ideal_seconds", h / 2).set("measured_seconds", t);
    row.set("speedup", h / t).set("efficiency", h / 2 / t).set("lost_seconds", t - h / 2);
    const std::vector<double> shown = numbers_in(last_line(row).substr(36));
    ASSERT_GE(shown.size(), 6U) << last_line(row);
    const double unit =
        std::pow(10, std::min(-2.0, std::floor(std::log10(std::min(h / 2, t))) - 4));
    EXPECT_NEAR(shown[1], shown[0] / 2, unit) << "H/N";
    EXPECT_NEAR(shown[3], shown[0] / shown[2], 0.01) << "speedup";
    EXPECT_NEAR(shown[4], 100 * shown[1] / shown[2], 0.1) << "efficiency";
    EXPECT_NEAR(shown[5], shown[2] - shown[1], 10 * unit) << "lost";
  }
}

TEST(ScalingTable, SaysWhyThereIsNoNumber) {
  ResultRow row(summary_schema());
  row.set("model", "mlp").set("strategy", "mirrored").set("scaling", "strong").set("ranks", 2);
  EXPECT_THAT(last_line(row.set("trust", "failed: exit code 137")),
              EndsWith("  2 failed: exit code 137"));
  row.set("measured_seconds", 6).set("trust", "emulated; no speedup: H is measured");
  EXPECT_THAT(last_line(row),
              AllOf(HasSubstr(" - "), EndsWith(" emulated; no speedup: H is measured")));
}

// The answer.

TEST(Answer, NamesTheTrainingFarthestFromTheIdealAndItsLargestLoss) {
  ResultRow worst = measured(), better = measured(), base = measured(), broken(summary_schema());
  better.set("model", "resnet20").set("efficiency", 0.9);
  base.set("strategy", "none, ring").set("efficiency", 0.5);  // a loop that synchronises nothing
  EXPECT_EQ(answer_of({better, base, broken.set("ranks", 4), worst}),
            "mlp with mirrored on 2 ranks is farthest from H/N, at an efficiency of 80.0 % [75.0, "
            "85.0]: 1.250 of 6.2500 s are lost. Its largest loss is compute, 1.000 s [0.500, "
            "1.500].\n");
  worst.set("scaling", "weak").set("largest_loss", "");
  EXPECT_THAT(answer_of({worst}), AllOf(StartsWith("mlp with mirrored, weak, on 2 ranks is"),
                                        EndsWith(" 1.250 of 6.2500 s are lost.\n")));
  EXPECT_THAT(answer_of({worst.set("strategy", "").set("scaling", "strong")}),
              StartsWith("mlp on 2 ranks is farthest"));
  EXPECT_EQ(answer_of({base, broken}), "");
}

TEST(Answer, SaysWhatTheDataCannotTell) {
  ResultRow row = measured();
  row.set("efficiency_ci_low", 0.66).set("efficiency_ci_high", 1.61);
  row.set("largest_loss_seconds_ci_low", -1);
  EXPECT_THAT(answer_of({row}),
              AllOf(HasSubstr("80.0 % [66.0, 161.0]: 1.250 of 6.2500 s are lost, which cannot be "
                              "told from nothing. Its"),
                    EndsWith("1.000 s [-1.000, 1.500], which cannot be told from nothing.\n")));
  EXPECT_THAT(answer_of({without_intervals(row)}),
              HasSubstr(" are lost; nothing says what of it is chance. Its"));
}

TEST(Answer, IsTheLastOfWhatARunIsShownBy) {
  EXPECT_THAT(result_text({measured()}, {}), EndsWith("\n\n" + answer_of({measured()})));
}

TEST(Rates, AreWhatARunWithoutEpochsIsShownBy) {
  ResultRow ring(allreduce_schema());
  ring.set("algorithm", "ring").set("transport", "mpi").set("ranks", 2).set("status", "ok");
  ring.set("seconds_median", 0.0125).set("busbw_gb_per_s", 1.5);
  ring.set("seconds_ci_low", 0.01171875).set("seconds_ci_high", 0.015);
  ResultRow step(throughput_schema());
  step.set("model", "mlp").set("ranks", 2).set("rank", "all").set("status", "ok");
  step.set("seconds_median", 0.5).set("images_per_s", 128);
  ResultRow skipped = step;
  skipped.set("status", "skipped").set("note", "no GPU");
  ResultRow of_rank = step;
  of_rank.set("rank", 1);
  const std::string text = result_text({}, {{step, of_rank, skipped}, std::vector(61, ring)});
  EXPECT_THAT(text, HasSubstr("500 ms  128.0 images/s\n"));
  EXPECT_THAT(text, HasSubstr("1 skipped; throughput.csv says why\n"));
  EXPECT_THAT(text, HasSubstr("12.5 ms  1.500 [1.250, 1.600] GB/s busbw\n"));
  EXPECT_THAT(text, EndsWith("... and 1 more in allreduce.csv\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 + 1 + 60 + 1);
  EXPECT_THAT(result_text({measured()}, {{step}}), Not(HasSubstr("images/s")));
  ring.set("note", "injected: slower=0.1; and more");
  EXPECT_THAT(result_text({}, {{ring}}), EndsWith(" GB/s busbw  injected: slower=0.1\n"));
  step.set("model", "\x1b[31mred");
  EXPECT_THAT(result_text({}, {{step}}), Not(HasSubstr("\x1b"))) << "as an import has it";
}

TEST(Rates, SayHowManyTimesAsFastAsNativeAnAlgorithmIs) {
  ResultRow native(allreduce_schema());
  native.set("algorithm", "native").set("status", "ok").set("seconds_median", 0.5);
  ResultRow ring = native, naive = native;
  ring.set("algorithm", "ring").set("native_ratio", 1.2).set("native_ratio_ci_low", 1.16);
  ring.set("native_ratio_ci_high", 1.25).set("native_verdict", "FASTER");
  naive.set("algorithm", "naive").set("native_ratio", 0.5).set("native_verdict", "UNDECIDED");
  const std::string text = result_text({}, {{native, ring, naive}});
  EXPECT_THAT(text, AllOf(HasSubstr("as fast; to tell 2 cells takes 7 rounds\n"),
                          HasSubstr("  1.20x native [1.16, 1.25] FASTER\n"),
                          HasSubstr("  0.50x native UNDECIDED\n"), HasSubstr(" 500 ms  \n")));
}

TEST(Rates, AreToldApart) {
  const std::string text =
      result_text({}, {{step_row("float", "contiguous", 1), step_row("float", "channels_last", 2),
                        step_row("bfloat16", "", 3)}});
  EXPECT_THAT(text, AllOf(HasSubstr("\nthroughput mlp batch 16 N=1 contiguous "),
                          HasSubstr("\nthroughput mlp batch 16 N=1 channels_last "),
                          HasSubstr("\nthroughput mlp bfloat16 batch 16 N=1 ")));
}

TEST(ScalingTable, IsEmptyWithoutRows) { EXPECT_EQ(scaling_table({}), ""); }

}  // namespace
}  // namespace scalebench
