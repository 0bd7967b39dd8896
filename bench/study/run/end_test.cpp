// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/end.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace scalebench {
namespace {

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

}  // namespace
}  // namespace scalebench
