// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/grouped_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/record/columns.hpp"

namespace scalebench::grouped_report_test {
namespace {

/// What is said of --pairs hosts with two ranks each, where the pairs of the last host take ten
/// times as long; with an odd number of hosts one of them sits out each round, and measures itself.
std::string said_of(int hosts, std::string_view format) {
  constexpr std::size_t kCount = std::size_t{1} << 20U;
  Topology topology;
  std::vector<std::string> names;
  for (int rank = 0; rank < 2 * hosts; ++rank) {
    topology.node_of_rank.push_back(rank / 2);
    names.push_back("host" + std::to_string(rank / 2));
  }
  const Console console(/*speaks=*/true, /*quiet=*/true);
  GroupedReport report({console, format, PairsOf::hosts, topology, names});
  const AllreduceCase one{.algorithm = allreduce_algorithms().data(), .count = kCount};
  testing::internal::CaptureStdout();
  for (int a = 0; a < hosts; ++a) {
    for (int b = a + (hosts % 2 == 0 ? 1 : 0); b < hosts; ++b) {
      std::vector<int> members{2 * a, 2 * a + 1};
      if (b != a) members.insert(members.end(), {2 * b, 2 * b + 1});
      // No two are quite equal.
      const double usual = a == b ? 1e-4 : 1e-3 * (1 + 0.01 * ((3 * a + 5 * b) % 4));
      const double seconds = a != b && b == hosts - 1 ? 10 * usual : usual;
      ResultRow row(allreduce_groups_schema());
      row.set("status", "ok").set("size_bytes", one.bytes()).set("ranks", members.size());
      row.set("seconds_median", seconds);
      set_bandwidths(row, seconds, seconds, seconds);
      report.line("one case", one, members, row);
    }
  }
  testing::internal::GetCapturedStdout();  // the rows
  testing::internal::CaptureStdout();
  report.foot();
  return testing::internal::GetCapturedStdout();
}

TEST(GroupedReport, AHostThatSitsOutIsNoPair) {
  using testing::HasSubstr;
  EXPECT_THAT(said_of(5, "table"), HasSubstr("slow: host4, its pairs take 9.98 times"));
  EXPECT_THAT(said_of(3, "table"), HasSubstr("3 pair(s): too few to tell"));
  const auto few = nlohmann::json::parse(said_of(3, "json"));
  EXPECT_EQ(few.at("pairs"), 3);
  EXPECT_EQ(few.at("judged"), false);
}

TEST(GroupedReport, APairsRateIsThatOfItsRow) {
  // 4 MiB in 1.01 ms, and 2 (4 - 1) / 4 of that.
  EXPECT_THAT(said_of(4, "table"), testing::ContainsRegex("host0 +- +6\\.229 "));
  EXPECT_THAT(said_of(18, "table"), testing::ContainsRegex("host[0-9]+ +host17 +0\\.6"));
}

}  // namespace
}  // namespace scalebench::grouped_report_test
