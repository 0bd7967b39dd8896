// SPDX-License-Identifier: Apache-2.0
// What nights remember, written and read again.
#include <gtest/gtest.h>

#include "bench/study/analysis/stored_run.hpp"
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
      .set("machine_seconds", seconds)
      .set("machine_verdict", verdict);
}

TEST(History, KeepsNightsAndBeginsThemAnewWhereAccepted) {
  const TemporaryFolder folder;
  const auto study = folder.path() / "quick-0";
  append_history(study, {row("1", "a", 1, "UNDECIDED"), row("1", "b", 2, "UNDECIDED")});
  append_history(study, {row("2", "a", 1.5, "WATCHED"), row("2", "b", 2, "SAME")});
  append_history(study,
                 {row("3", "*", std::nan(""), "").set("verdict", "MACHINE").set("change", 0.5)});
  MachineNights nights = machine_nights(rows_in(study, history_schema()), "measured");
  ASSERT_EQ(nights.cells.at("a").size(), 2U);
  EXPECT_TRUE(nights.cells.at("a")[1].beyond());
  EXPECT_EQ(nights.cells.at("b")[1].word, "SAME");
  ASSERT_EQ(nights.together.size(), 1U);
  EXPECT_TRUE(nights.together[0].machine);
  EXPECT_TRUE(machine_nights(rows_in(study, history_schema()), "emulated").cells.empty());
  append_history(study, {row("2", "a", 1.5, kAccepted), row("2", "b", std::nan(""), kDropped)});
  nights = machine_nights(rows_in(study, history_schema()), "measured");
  ASSERT_EQ(nights.cells.size(), 1U);
  ASSERT_EQ(nights.cells.at("a").size(), 1U) << "others keep theirs, this one begins anew";
  EXPECT_EQ(nights.cells.at("a")[0].seconds, 1.5);
}

TEST(History, DamageIsRefused) {
  const TemporaryFolder folder;
  append_history(folder.path(), {row("1", "a", 1, "SAME").set("machine_seconds", "fast")});
  EXPECT_THROW(machine_nights(rows_in(folder.path(), history_schema()), "measured"), UsageError);
}

NightCell cell_of(const std::string& key, const std::string& word, bool of_machine) {
  NightCell cell{key, "label of " + key, word, "", of_machine, {}, {}};
  cell.build.word = "FASTER";
  cell.build.seconds_a = 2;
  cell.build.seconds_b = 1.8;
  cell.build.ratio = 0.9;
  cell.machine.word = "MACHINE";
  cell.machine.nights = 20;
  cell.machine.before = 1.5;
  cell.machine.seconds = 2;
  return cell;
}

TEST(History, HasTheAnswerOfACellAndWhatTheMachineSays) {
  Night night;
  night.cells = {cell_of("a", "MACHINE", true), cell_of("b", "FASTER", false)};
  Manifest run;
  run.run_id = "1";
  run.origin = "measured";
  const std::vector<ResultRow> rows = history_rows(night, run);
  std::string text;
  for (const ResultRow& its : rows) {
    for (const char* const column :
         {"key", "question", "verdict", "before", "seconds", "machine_verdict"}) {
      text += its.get(column) + " ";
    }
    text += its.get("machine_seconds") + "\n";
  }
  EXPECT_EQ(text,
            "a machine MACHINE 1.5 2 MACHINE 2\n"
            "b build FASTER 2 1.8 MACHINE 2\n"
            "* machine SAME    \n");
  EXPECT_EQ(machine_nights(rows, "measured").cells.at("b").front().seconds, 2);
  const auto anew = accepted_rows(rows, {{"a", 3}});
  ASSERT_EQ(anew.size(), 2U) << "those that were not the same";
  EXPECT_EQ(anew[0].get("machine_verdict") + anew[0].get("machine_seconds"), "ACCEPTED3");
  EXPECT_EQ(anew[1].get("machine_verdict") + anew[1].get("key"), "DROPPEDb");
}

}  // namespace
}  // namespace scalebench
