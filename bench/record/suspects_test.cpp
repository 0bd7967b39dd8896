// SPDX-License-Identifier: Apache-2.0
#include "bench/record/suspects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/manifest.hpp"

namespace scalebench {
namespace {

ResultRow row_of(const std::string& host, const std::string& verdict, double processor,
                 int nodes = 4) {
  ResultRow row(hosts_schema());
  row.set("status", "ok").set("host", host).set("nodes", nodes).set("verdict", verdict);
  if (verdict != "none") row.set("note", "its " + verdict + " (look at it)");
  row.set("compute_relative", processor).set("launches", 1);
  return row.set("accused", verdict == "none" ? 0 : 1);
}

ResultRow link_of(const std::string& from, const std::string& to, const std::string& note,
                  double rate = 1, int nodes = 4) {
  ResultRow row(hosts_schema());
  row.set("host", from).set("to_host", to).set("nodes", nodes).set("note", note);
  return row.set("gb_per_s", rate).set("launches", 1).set("accused", note.empty() ? 0 : 1);
}

TEST(SuspectLine, NamesTheHostAndSaysWhy) {
  EXPECT_EQ(suspect_line({}, {row_of("a", "none", 1), row_of("b", "link", 0.1)}),
            "suspect: b, its link (look at it)");
  EXPECT_EQ(suspect_line({}, {row_of("a", "loss", 1), row_of("b", "link", 0.1)}),
            "suspects: a, its loss (look at it); b, its link (look at it)");
}

TEST(SuspectLine, BeginsWithHostsThatWereLost) {
  const std::string said =
      "rank 3 on d: no sign of life for 2.5 s in \"cell\" (all of d: stopped, down or cut off)";
  ASSERT_EQ(lost_host_in(said), "d");
  EXPECT_EQ(lost_host_in("rank 3 on d died in \"cell\""), "");
  Manifest manifest;
  manifest.launches.resize(3);
  for (const std::size_t i : {0, 2}) manifest.launches[i].note = "exit code 1: " + said;
  manifest.hosts.emplace().push_back(
      {.host = "c", .found = "unreachable", .note = "host c is left out: no answer"});
  name_hosts(manifest, {row_of("a", "none", 1), row_of("b", "link", 0.1)});
  EXPECT_EQ(manifest.suspect_line,
            "suspects: c, left out: no answer; d, stopped, down or cut off in 2 launches; "
            "b, its link (look at it)");
  EXPECT_EQ(manifest.suspects.size(), 3U);
  name_hosts(manifest, {});
  EXPECT_EQ(manifest.suspects.size(), 2U) << "also where no rows were left";
}

TEST(SuspectLine, SaysSoWhereNobodyIsAndNothingWhereNobodyLooked) {
  EXPECT_EQ(suspect_line({}, {row_of("a", "none", 1)}), "no host stands out");
  EXPECT_EQ(suspect_line({}, {}), "");
}

TEST(SuspectLine, EndsWithWhatLiesBetweenTwoHostsOfWhichNeitherIsNamed) {
  const std::vector<ResultRow> links{link_of("a", "b", "a sends slowly to b"),
                                     link_of("b", "a", ""), link_of("a", "c", "lost")};
  std::vector<ResultRow> rows{row_of("a", "none", 1)};
  rows.insert(rows.end(), links.begin(), links.end());
  EXPECT_EQ(suspect_line({}, rows), "no host stands out; a sends slowly to b; lost");
  rows.push_back(row_of("c", "loss", 1));
  EXPECT_EQ(suspect_line({}, rows), "suspect: c, its loss (look at it); a sends slowly to b");
}

TEST(HostRows, LinksHaveANoteWhereHalfOfTheLaunchesHaveOne) {
  const std::vector<ResultRow> rows =
      host_rows({link_of("a", "b", "lost", 3), link_of("b", "a", "slow"), link_of("a", "b", "", 1),
                 link_of("b", "a", ""), link_of("a", "b", "", 2), link_of("b", "a", "slow")});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("note"), "") << "one of three";
  EXPECT_EQ(rows[0].get("gb_per_s"), "2");
  EXPECT_EQ(rows[0].get("accused") + "/" + rows[0].get("launches"), "1/3");
  EXPECT_EQ(rows[1].get("note"), "slow") << "two of three";
}

TEST(HostRows, HalfOfTheLaunchesNameAHostAndFewerDoNot) {
  const std::vector<ResultRow> launches{row_of("a", "none", 1), row_of("b", "link", 0.2),
                                        row_of("a", "loss", 1), row_of("b", "link", 0.1),
                                        row_of("a", "none", 1), row_of("b", "none", 0.9)};
  const std::vector<ResultRow> rows = host_rows(launches);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("verdict"), "none");
  EXPECT_EQ(rows[0].get("note"), "");
  EXPECT_EQ(rows[0].get("accused"), "1");
  EXPECT_EQ(rows[0].get("launches"), "3");
  EXPECT_EQ(rows[1].get("verdict"), "link");
  EXPECT_DOUBLE_EQ(number_in(rows[1], "compute_relative"), 0.2);
  EXPECT_EQ(suspect_line({}, rows), "suspect: b, its link (look at it) in 2 of 3 launches");
}

TEST(HostRows, AreOfTheLaunchesOnTheMostHosts) {
  // Between two hosts no link can be blamed.
  const std::vector<ResultRow> rows = host_rows(
      {row_of("a", "none", 1, 2), link_of("a", "b", "slow", 1, 2), row_of("a", "link", 1)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(suspect_line({}, rows), "suspect: a, its link (look at it)");
  EXPECT_TRUE(host_rows({}).empty());
}

}  // namespace
}  // namespace scalebench
