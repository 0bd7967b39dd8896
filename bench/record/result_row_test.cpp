// SPDX-License-Identifier: Apache-2.0
// The schemas against results/README.md, which is their contract, and what a row does to values.
#include "bench/record/result_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

const std::vector<const Schema*>& schemas() {
  static const std::vector<const Schema*> all{
#define SCHEMA(name, ...) &name##_schema(),
#include "bench/record/result_files.def"
#undef SCHEMA
  };
  return all;
}

/// Columns of the first table in the section of results/README.md with this heading, in order. A
/// row names columns that share their meaning, or leads to the table in which a set of them stands.
std::vector<std::string> documented(const std::string& heading) {
  static const std::map<std::string, std::string> sets{{"[common columns]", "Common columns"},
                                                       {"[statistics]", "Statistics"},
                                                       {"[device columns]", "Device columns"}};
  const std::string text = read_file(SCALEBENCH_RESULTS_README);
  const std::size_t section = text.find(fmt::format("\n## {}\n", heading));
  if (section == std::string::npos) fail("results/README.md has no section '{}'", heading);
  const std::string head = "\n| column | unit | meaning |\n|---|---|---|\n";
  const std::size_t table = text.find(head, section);
  if (table == std::string::npos || table > text.find("\n## ", section + 1))
    fail("results/README.md: '{}' has no table of columns", heading);
  std::istringstream rows(text.substr(table + head.size()));
  const std::regex cells("\\| (.+) \\| (.+) \\| (.+) \\|"), name("`([^`]*)`");
  std::vector<std::string> names;
  for (std::string row; std::getline(rows, row) && row.starts_with('|');) {
    if (const auto set = sets.find(row.substr(2, row.find(']') - 1)); set != sets.end()) {
      for (std::string& column : documented(set->second)) names.push_back(std::move(column));
      continue;
    }
    std::smatch cell;
    EXPECT_TRUE(std::regex_match(row, cell, cells)) << heading << ", no unit or meaning: " << row;
    const std::string columns = cell[1];
    for (std::sregex_iterator i(columns.begin(), columns.end(), name), end; i != end; ++i)
      names.push_back((*i)[1]);
  }
  return names;
}

TEST(Schema, BeginsWithTheCommonColumns) {
  for (const Schema* schema : schemas()) {
    if (schema->file == "summary.csv") continue;  // for people, and no more than they look at
    if (!schema->has("case_id")) continue;        // of hosts, and not of a case
    const std::vector<std::string> common{"run_id", "case_id", "origin"};
    EXPECT_TRUE(std::equal(common.begin(), common.end(), schema->columns.begin())) << schema->file;
    const bool case_file = schema->file != "samples.csv";
    EXPECT_EQ(schema->columns[common.size()], case_file ? "status" : "bench");
    EXPECT_EQ(schema->columns[common.size() + 1], case_file ? "note" : "launch");
  }
}

TEST(Schema, HasNoColumnTwice) {
  for (const Schema* schema : schemas()) {
    const std::set<std::string> unique(schema->columns.begin(), schema->columns.end());
    EXPECT_EQ(unique.size(), schema->columns.size()) << schema->file;
  }
}

TEST(Schema, HasARowOfTheReadmeForEachColumnInItsOrder) {
  for (const Schema* schema : schemas()) {
    EXPECT_THAT(documented(std::string(schema->file)), ElementsAreArray(schema->columns))
        << schema->file;
  }
}

TEST(ResultRow, WritesTheShortestTextThatReadsBackEqual) {
  ResultRow row(kernels_schema());
  row.set("seconds_median", 0.1).set("seconds_min", 1e-9).set("repetitions", std::size_t{1} << 40U);
  row.set("bytes", std::int64_t{-1}).set("converged", true).set("kernel", "add");
  EXPECT_EQ(row.get("seconds_median"), "0.1");
  EXPECT_EQ(row.get("seconds_min"), "1e-09");
  EXPECT_EQ(row.get("repetitions"), "1099511627776");
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

TEST(JsonOfRow, TextsThatLookLikeNumbersStayTexts) {
  ResultRow row(epoch_schema());
  row.set("model", "012345678901").set("device", "nan").set("allreduce", "1e5");
  row.set("ranks", 3).set("seconds", 1.5e-6).set("samples", 9007199254740993);
  const auto read = json_of(row);
  EXPECT_EQ(read.at("model"), "012345678901");
  EXPECT_EQ(read.at("device"), "nan");
  EXPECT_EQ(read.at("allreduce"), "1e5");
  EXPECT_EQ(read.at("ranks"), 3);
  EXPECT_EQ(read.at("seconds"), 1.5e-6);
  EXPECT_EQ(read.at("samples").dump(), "9007199254740993");
}

TEST(JsonOfRow, WhatIsUnknownIsNull) {
  const ResultRow row(allreduce_schema());
  const auto object = json_of(row);
  for (const auto& [column, value] : object.items()) EXPECT_TRUE(value.is_null()) << column;
}

TEST(JsonOfRow, AWordInAColumnOfNumbersIsAText) {
  ResultRow row(throughput_schema());
  for (const char* const word : {"all", "true", "[1]", "null", "1e999"}) {
    EXPECT_EQ(json_of(row.set("rank", word)).at("rank"), word);
  }
}

TEST(JsonOfRow, HasTheOrderOfTheFile) {
  const ResultRow row(epoch_schema());
  const auto object = json_of(row);
  std::vector<std::string> names;
  for (const auto& [column, value] : object.items()) names.push_back(column);
  EXPECT_EQ(row.schema().columns, names);
}

}  // namespace
}  // namespace scalebench
