// SPDX-License-Identifier: Apache-2.0
// The schemas against results/README.md, which is their contract, and what a row does to values.
#include "bench/record/result_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <regex>
#include <set>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

const std::vector<const Schema*>& schemas() {
  static const std::vector<const Schema*> all{
      &samples_schema(),         &kernels_schema(),     &allreduce_schema(), &throughput_schema(),
      &allreduce_ranks_schema(), &bound_schema(),       &suspects_schema(),  &links_schema(),
      &accuracy_schema(),        &monitor_schema(),     &epoch_schema(),     &scaling_schema(),
      &ladder_schema(),          &summary_schema(),     &losses_schema(),    &fit_schema(),
      &fit_points_schema(),      &certificate_schema(), &gate_schema(),      &history_schema(),
      &comparison_schema(),      &cost_schema(),        &decision_schema(),  &recovery_schema(),
      &prediction_schema(),      &hosts_schema(),       &placement_schema(), &laws_schema()};
  return all;
}

/// Columns that the section of results/README.md with this heading names in backticks, in order.
std::vector<std::string> documented(std::string_view heading) {
  const std::string text = read_file(SCALEBENCH_RESULTS_README);
  const std::size_t begin = text.find(fmt::format("\n## {}", heading));
  if (begin == std::string::npos) fail("results/README.md has no section '{}'", heading);
  std::string section = text.substr(begin + 4, text.find("\n## ", begin + 4) - begin - 4);
  // Values are in parentheses, `cache` (`cold` `warm`), or in two phrases that explain rows.
  section =
      std::regex_replace(section, std::regex("\\([^()]*\\)|`rank` = `all`|against `none`"), "");
  const std::regex name("`([^`]*)`");
  std::vector<std::string> names;
  for (std::sregex_iterator i(section.begin(), section.end(), name), end; i != end; ++i) {
    names.push_back((*i)[1]);
  }
  return names;
}

TEST(Schema, BeginsWithTheCommonColumns) {
  for (const Schema* schema : schemas()) {
    if (schema->file == "summary.csv") continue;  // for people, and no more than they look at
    const std::vector<std::string> common{"schema_version", "run_id", "case_id", "origin"};
    // The answer stands before all else.
    const std::ptrdiff_t answer = schema->file == "scaling.csv" ? 12 : 0;
    EXPECT_TRUE(std::equal(common.begin(), common.end(), schema->columns.begin() + answer))
        << schema->file;
    if (schema->file == "history.csv") continue;  // values alone, measured or not
    const bool case_file = schema->file != "samples.csv";
    const auto next = static_cast<std::size_t>(answer) + common.size();
    EXPECT_EQ(schema->columns[next], case_file ? "status" : "bench");
    EXPECT_EQ(schema->columns[next + 1], case_file ? "note" : "launch");
  }
}

TEST(Schema, HasNoColumnTwice) {
  for (const Schema* schema : schemas()) {
    const std::set<std::string> unique(schema->columns.begin(), schema->columns.end());
    EXPECT_EQ(unique.size(), schema->columns.size()) << schema->file;
  }
}

TEST(Schema, ListsTheColumnsOfTheReadmeInItsOrder) {
  for (const Schema* schema : schemas()) {
    std::set<std::string> elsewhere{"schema_version", "run_id", "case_id",
                                    "origin",         "status", "note"};
    // The statistics have a section of their own; scaling.csv and losses.csv name those that they
    // hold.
    if (schema->file != "scaling.csv" && schema->file != "losses.csv")
      elsewhere.merge([] {
        const auto names = documented("Statistics");
        return std::set<std::string>(names.begin(), names.end());
      }());
    std::vector<std::string> own;
    for (const std::string& column : schema->columns) {
      if (!elsewhere.contains(column)) own.push_back(column);
    }
    std::vector<std::string> named;
    for (const std::string& name : documented(schema->file)) {
      if (!elsewhere.contains(name)) named.push_back(name);
    }
    EXPECT_THAT(named, ElementsAreArray(own)) << schema->file;
  }
}

TEST(Schema, HoldsTheStatisticsTogether) {
  const std::vector<std::string> statistics{
      "launches",     "repetitions", "seconds_median", "seconds_ci_low", "seconds_ci_high",
      "interval",     "seconds_min", "seconds_p5",     "seconds_p95",    "seconds_max",
      "seconds_mean", "outliers",    "converged"};
  for (const Schema* schema :
       {&kernels_schema(), &allreduce_schema(), &throughput_schema(), &epoch_schema()}) {
    const auto& columns = schema->columns;
    EXPECT_NE(std::search(columns.begin(), columns.end(), statistics.begin(), statistics.end()),
              columns.end())
        << schema->file;
  }
}

TEST(ResultRow, WritesTheShortestTextThatReadsBackEqual) {
  ResultRow row(kernels_schema());
  row.set("seconds_median", 0.1).set("seconds_min", 1e-9).set("count", std::size_t{1} << 40U);
  row.set("bytes", std::int64_t{-1}).set("converged", true).set("kernel", "add");
  EXPECT_EQ(row.get("seconds_median"), "0.1");
  EXPECT_EQ(row.get("seconds_min"), "1e-09");
  EXPECT_EQ(row.get("count"), "1099511627776");
  EXPECT_EQ(row.get("bytes"), "-1");
  EXPECT_EQ(row.get("converged"), "1");
  EXPECT_EQ(row.get("kernel"), "add");
  EXPECT_EQ(row.get("note"), "");
  EXPECT_EQ(row.cells().size(), kernels_schema().columns.size());
}

TEST(ResultRow, LeavesUnknownNumbersEmpty) {
  ResultRow row(kernels_schema());
  row.set("flops", 1.0).set("flops", std::numeric_limits<double>::quiet_NaN());
  row.set("gb_per_s", std::numeric_limits<double>::infinity());
  EXPECT_EQ(row.get("flops"), "");
  EXPECT_EQ(row.get("gb_per_s"), "");
}

TEST(ResultRow, RefusesAColumnThatIsNotInTheSchema) {
  EXPECT_THAT(message_of<Error>([] { ResultRow(allreduce_schema()).set("algoritm", "ring"); }),
              HasSubstr("did you mean 'algorithm'?"));
}

/// As sha256sum says.
TEST(CaseId, IsTheBeginningOfTheHash) { EXPECT_EQ(case_id("abc"), "ba7816bf8f01"); }

}  // namespace
}  // namespace scalebench
