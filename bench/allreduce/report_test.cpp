// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace scalebench {
namespace {

ResultRow rank_row(int rank, const std::string& host, double seconds, double last) {
  ResultRow row(allreduce_ranks_schema());
  row.set("size_bytes", 65536).set("transport", "mpi").set("algorithm", "ring").set("rank", rank);
  row.set("placement", "out").set("host", host).set("seconds_median", seconds);
  return row.set("slowest_share", last);
}

/// Four hosts, of which c has a tenth of the others' link and half of their processor.
HostReport four_hosts() {
  HostReport report;
  report.hosts = {"a", "b", "c", "d"};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const double seconds = from == 2 || to == 2 ? 1e-5 : 1e-6;
      report.links.push_back(
          {.from = from, .to = to, .bytes = 1000, .seconds = seconds, .median_seconds = seconds});
    }
  }
  report.verdicts = judge_hosts(report.links, {0.4, 0.4, 0.8, 0.4});
  return report;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// Below the lines of comment and the two of the head.
std::vector<std::vector<std::string>> lines_of(const std::string& table) {
  std::istringstream text(table);
  std::vector<std::vector<std::string>> lines;
  bool body = false;
  for (std::string line; std::getline(text, line);) {
    EXPECT_EQ(line.front(), '#') << "it stands below other tools' formats too";
    if (body) lines.push_back(words_of(line.substr(1)));
    body = body || line.find("(B)") != std::string::npos;
  }
  return lines;
}

TEST(RankTable, SaysBesideWhoEndsLastWhoseHostIsSlow) {
  using testing::ElementsAre;
  const auto lines = lines_of(
      rank_table({rank_row(0, "a", 4e-3, 0.96), rank_row(1, "c", 3.5e-3, 0.04)}, four_hosts()));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], ElementsAre("65536", "mpi", "ring", "out", "0", "4000.00", "96", "100",
                                    "100", "100", "a"));
  EXPECT_THAT(lines[1], ElementsAre("65536", "mpi", "ring", "out", "1", "3500.00", "4", "10", "10",
                                    "50", "c"));
}

TEST(RankTable, SaysNothingOfHostsThatNobodyLookedAt) {
  ResultRow row = rank_row(0, "a", 1e-3, 1);
  row.set("device", "H100");
  const auto lines = lines_of(rank_table({row}, {}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::ElementsAre("65536", "mpi", "ring", "out", "0", "1000.00", "100",
                                             "-", "-", "-", "a,", "H100"));
}

}  // namespace
}  // namespace scalebench
