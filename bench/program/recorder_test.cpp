// SPDX-License-Identifier: Apache-2.0
#include "bench/program/recorder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/record/columns.hpp"

namespace scalebench {
namespace {

TEST(JsonLine, IsOneLineWhateverATextHolds) {
  ResultRow row(allreduce_schema());
  row.set("note", "a\nb\xff");
  const std::string line = json_line(row);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(line).at("note"), "a\nb\uFFFD");
}

}  // namespace
}  // namespace scalebench
