// SPDX-License-Identifier: Apache-2.0
#include "bench/program/recorder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/record/columns.hpp"

namespace scalebench {
namespace {

TEST(JsonLine, TextsThatLookLikeNumbersStayTexts) {
  ResultRow row(allreduce_ranks_schema());
  row.set("host", "012345678901").set("device", "nan").set("algorithm", "1e5");
  row.set("rank", 3).set("seconds_median", 1.5e-6);
  const nlohmann::json read = nlohmann::json::parse(json_line(row));
  EXPECT_EQ(read.at("host"), "012345678901");
  EXPECT_EQ(read.at("device"), "nan");
  EXPECT_EQ(read.at("algorithm"), "1e5");
  EXPECT_EQ(read.at("rank"), 3);
  EXPECT_EQ(read.at("seconds_median"), 1.5e-6);
  EXPECT_TRUE(read.at("ranks").is_null());
}

TEST(JsonLine, AWordInAColumnOfNumbersIsAText) {
  ResultRow row(epoch_schema());
  row.set("rank", "all");
  EXPECT_EQ(nlohmann::json::parse(json_line(row)).at("rank"), "all");
}

}  // namespace
}  // namespace scalebench
