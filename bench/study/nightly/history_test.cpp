// SPDX-License-Identifier: Apache-2.0
// What nights remember, written and read again.
#include <gtest/gtest.h>

#include "bench/study/nightly/record.hpp"
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
      .set("question", "machine")
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
  append_history(folder.path() / "history.csv", {row("1", "a", 1, "SAME").set("seconds", "fast")});
  EXPECT_THROW(read_history(folder.path() / "history.csv"), UsageError);
  EXPECT_THROW(machine_nights(std::vector{row("1", "a", 1, "GREAT")}, "measured"), UsageError);
}

NightCell cell_of(const std::string& key, const std::string& word, bool of_machine) {
  NightCell cell{key, "label of " + key, word, "", of_machine, {}, {}};
  cell.build.word = "FASTER";
  cell.build.rounds = 12;
  cell.build.seconds_a = 2;
  cell.build.seconds_b = 1.8;
  cell.build.ratio = 0.9;
  cell.machine.verdict = MachineVerdict::machine;
  cell.machine.nights = 20;
  cell.machine.before = 1.5;
  cell.machine.seconds = 2;
  return cell;
}

TEST(History, HasARowForEachQuestionAndTheAnswerFirst) {
  Night night;
  night.cells = {cell_of("a", "MACHINE", true), cell_of("b", "FASTER", false),
                 cell_of("c", "SAME", true)};
  night.cells[2].build.rounds = 0;
  Manifest run;
  run.run_id = "1";
  run.origin = "measured";
  const std::vector<ResultRow> rows = history_rows(night, run);
  std::string text;
  for (const ResultRow& its : rows) {
    text += its.get("key") + " " + its.get("question") + " " + its.get("verdict") + " " +
            its.get("before") + " " + its.get("seconds") + "\n";
  }
  EXPECT_EQ(text,
            "a machine MACHINE 1.5 2\na build FASTER 2 1.8\n"
            "b build FASTER 2 1.8\nb machine MACHINE 1.5 2\n"
            "c machine SAME 1.5 2\n* machine SAME  \n");
  EXPECT_EQ(machine_nights(rows, "measured").cells.at("b").front().seconds, 2);
  const auto anew = accepted_rows(rows, {{"a", 3}});
  ASSERT_EQ(anew.size(), 2U) << "those that were not the same";
  EXPECT_EQ(anew[0].get("verdict") + anew[0].get("seconds"), "ACCEPTED3");
  EXPECT_EQ(anew[1].get("verdict") + anew[1].get("key"), "DROPPEDb");
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
