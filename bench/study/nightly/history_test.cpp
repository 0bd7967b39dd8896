// SPDX-License-Identifier: Apache-2.0
// What nights remember, written and read again.
#include "bench/study/nightly/history.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

ResultRow row(const std::string& run, const std::string& key, double seconds,
              const std::string& verdict) {
  ResultRow its(history_schema());
  its.set("run_id", run).set("started_utc", run + "T03:00:00Z").set("origin", "measured");
  return its.set("key", key)
      .set("label", "label of " + key)
      .set("seconds", seconds)
      .set("verdict", verdict);
}

TEST(History, KeepsNightsAndBeginsThemAnewWhereAccepted) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "quick-0" / "history.csv";
  EXPECT_TRUE(read_history(file).empty());
  append_history(file, {row("1", "a", 1, "UNDECIDED"), row("1", "b", 2, "UNDECIDED")});
  append_history(file, {row("2", "a", 1.5, "WATCHED"), row("2", "b", 2, "SAME")});
  append_history(file, {row("3", "*", std::nan(""), "MACHINE").set("change", 0.5)});
  MachineNights nights = machine_nights(read_history(file), "measured");
  ASSERT_EQ(nights.cells.at("a").size(), 2U);
  EXPECT_TRUE(nights.cells.at("a")[1].beyond());
  EXPECT_EQ(nights.cells.at("b")[1].verdict, MachineVerdict::same);
  ASSERT_EQ(nights.together.size(), 1U);
  EXPECT_TRUE(nights.together[0].machine);
  EXPECT_TRUE(machine_nights(read_history(file), "emulated").cells.empty());
  append_history(file, {row("2", "a", 1.5, kAccepted), row("2", "b", std::nan(""), kDropped)});
  nights = machine_nights(read_history(file), "measured");
  ASSERT_EQ(nights.cells.size(), 1U);
  ASSERT_EQ(nights.cells.at("a").size(), 1U) << "others keep theirs, this one begins anew";
  EXPECT_EQ(nights.cells.at("a")[0].seconds, 1.5);
}

TEST(History, DamageIsRefused) {
  const TemporaryFolder folder;
  folder.write(
      "history.csv",
      "run_id,started_utc,origin,key,label,seconds,change,verdict\n1,t,m,a,a,fast,,SAME\n");
  EXPECT_THROW(read_history(folder.path() / "history.csv"), UsageError);
  EXPECT_THROW(machine_nights(std::vector{row("1", "a", 1, "GREAT")}, "measured"), UsageError);
}

TEST(History, OtavaHasANightARowAndACellAColumn) {
  const std::vector<ResultRow> rows{row("1", "a", 1, "SAME"), row("1", "b", 2, "SAME"),
                                    row("1", "*", std::nan(""), "SAME"),
                                    row("1", "a", 1, kAccepted), row("2", "a", 1.5, "SAME")};
  std::size_t left_out = 0;
  EXPECT_EQ(otava_text(rows, left_out),
            "time,run,label of a\n1T03:00:00Z,1,1\n2T03:00:00Z,2,1.5\n");
  EXPECT_EQ(left_out, 1U);
}

}  // namespace
}  // namespace scalebench
