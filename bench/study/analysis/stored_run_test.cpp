// SPDX-License-Identifier: Apache-2.0
// The files of a run whose writer was stopped at each step that there is: every flushed row is
// kept, and counted once.
#include "bench/study/analysis/stored_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/csv.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ResultRow sample(int launch, double seconds) {
  ResultRow row(samples_schema());
  row.set("launch", launch);
  return row.set("case_id", "c").set("ranks", 2).set("seconds", seconds);
}

/// "1:0.5": launch and seconds of each row of a samples.csv.
std::vector<std::string> rows_of(const fs::path& folder) {
  std::vector<std::string> rows;
  for (const ResultRow& row : rows_in(folder, samples_schema())) {
    rows.push_back(row.get("launch") + ":" + row.get("seconds"));
  }
  return rows;
}

class KeptRows : public testing::Test {
 protected:
  fs::path launch(int number, int attempt = 1) {
    const fs::path path = launch_folder(run.path(), number, "x", attempt);
    fs::create_directories(path);
    return path;
  }
  void flush(const fs::path& folder, const std::vector<ResultRow>& rows) {
    CsvWriter file(folder / "samples.csv", samples_schema().columns);
    for (const ResultRow& row : rows) file.append(row.cells());
  }
  void end(int number, int attempt = 1, const std::string& status = "failed") {
    LaunchRecord& record = manifest.launches.emplace_back();
    record.number = number;
    record.name = "x";
    record.attempt = attempt;
    record.status = status;
  }

  std::vector<std::string> recover() {
    std::vector<PlannedLaunch> plan(3);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      plan[i].number = static_cast<int>(i) + 1;
      plan[i].name = "x";
    }
    return recover_run(run.path(), plan, manifest);
  }

  TemporaryFolder run;
  Manifest manifest;
};

TEST_F(KeptRows, StandInTheRunsFileOnce) {
  flush(launch(1), {sample(1, 1), sample(1, 2)});
  flush(launch(2), {sample(2, 3)});
  end(1);
  end(2, 1, "ok");
  for (int times = 0; times < 2; ++times) {
    EXPECT_THAT(keep_launches(run.path(), manifest), IsEmpty());
    EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1", "1:2", "2:3"));
  }
  EXPECT_TRUE(fs::exists(launch(1) / "samples.csv")) << "it failed, and may be started again";
  EXPECT_FALSE(fs::exists(run / "launches/002-x"));
}

TEST_F(KeptRows, AreNotCountedTwiceWhenTheWriterWasKilledHalfway) {
  flush(launch(1), {sample(1, 1), sample(1, 2)});
  end(1, 1, "ok");
  flush(run.path(), {sample(1, 1), sample(1, 2)});  // and the folder has not gone yet
  EXPECT_THAT(recover(), IsEmpty());
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1", "1:2"));
  EXPECT_FALSE(fs::exists(run / "launches/001-x"));
}

TEST_F(KeptRows, AreThereAlsoWhereTheWriterWasKilledWhileAFolderWent) {
  flush(launch(1), {sample(1, 1)});
  run.write("launches/001-x/stdout.log", "a table\n");
  end(1, 1, "ok");
  flush(run.path(), {sample(1, 1)});
  fs::remove(launch(1) / "samples.csv");
  EXPECT_THAT(recover(), IsEmpty());
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1"));
  EXPECT_FALSE(fs::exists(run / "launches/001-x"));
}

TEST_F(KeptRows, OfALaunchThatHadNotEndedStayInItsFolder) {
  flush(launch(1), {sample(1, 1)});
  end(1);
  flush(launch(2), {sample(2, 5)});
  EXPECT_THAT(recover(), ElementsAre(HasSubstr("launch 2 had not ended")));
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1"));
  EXPECT_THAT(rows_of(launch(2)), ElementsAre("2:5"));
  ASSERT_THAT(manifest.superseded, SizeIs(1));
  EXPECT_EQ(manifest.superseded[0].number, 2);
  EXPECT_EQ(next_attempt(run.path(), 2, "x"), 2);
  EXPECT_THAT(recover(), IsEmpty()) << "a second time finds nothing new";
  EXPECT_THAT(manifest.superseded, SizeIs(1));
}

TEST_F(KeptRows, OfALaunchThatIsToComeAgainStayInItsFolderAlone) {
  flush(launch(1), {sample(1, 1), sample(1, 3)});
  flush(launch(2), {sample(2, 2)});
  end(1);
  end(2, 1, "ok");
  keep_launches(run.path(), manifest);
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1", "1:3", "2:2"));
  manifest.superseded = {manifest.launches[0]};
  manifest.launches.erase(manifest.launches.begin());
  recover();
  EXPECT_THAT(rows_of(run.path()), ElementsAre("2:2"));
  EXPECT_THAT(rows_of(launch(1)), ElementsAre("1:1", "1:3"));
  // Its second start counts, and what is known of the first stays.
  flush(launch(1, 2), {sample(1, 7)});
  end(1, 2, "ok");
  recover();
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:7", "2:2"));
  EXPECT_THAT(rows_of(launch(1)), ElementsAre("1:1", "1:3"));
  EXPECT_THAT(manifest.superseded, SizeIs(1));
}

TEST_F(KeptRows, ATornLastLineIsDroppedAndReported) {
  flush(launch(1), {sample(1, 1)});
  {
    std::ofstream torn(launch(1) / "samples.csv", std::ios::app);
    torn << "1,run,c";
  }
  end(1);
  EXPECT_THAT(keep_launches(run.path(), manifest),
              ElementsAre(HasSubstr("its last line was cut short")));
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1"));
}

TEST_F(KeptRows, AFileWithoutAWholeHeaderHasNone) {
  end(1);
  for (const char* const text : {"", "schema_ver"}) {
    run.write("launches/001-x/samples.csv", text);
    keep_launches(run.path(), manifest);
    EXPECT_FALSE(fs::exists(run / "samples.csv"));
  }
}

TEST_F(KeptRows, OfCasesNameTheirEntryAndStandBesideThoseOfOtherLaunches) {
  for (const auto& [number, attempt] : {std::pair(1, 1), {1, 2}, {2, 1}, {3, 1}}) {
    ResultRow row(allreduce_schema());
    row.set("case_id", fmt::format("launch{}attempt{}", number, attempt));
    replace_rows(launch(number, attempt), allreduce_schema(), {row});
  }
  end(1, 2, "ok");
  end(3);  // 2 has not ended
  keep_launches(run.path(), manifest);
  {
    std::ofstream torn(run / "launches/allreduce.csv", std::ios::app);
    torn << "1,run,c";
  }
  manifest.inputs = {{"plan.json", "x"}};
  manifest.environment = capture_environment({});
  write_manifest(run.path(), manifest);
  const StoredRun stored = read_stored_run(run.path(), WithSamples::no);
  const std::vector<LaunchRows>& launches = stored.launches_of(allreduce_schema());
  ASSERT_THAT(launches, SizeIs(2));
  EXPECT_EQ(launches[0].launch, 1);
  EXPECT_EQ(launches[0].cases[0].get("case_id"), "launch1attempt2");
  EXPECT_EQ(launches[1].launch, 3);
  EXPECT_EQ(launches[1].cases[0].get("entry"), "x");
  EXPECT_THAT(stored.torn, ElementsAre(EndsWith("allreduce.csv: its last line was cut short and is "
                                                "left out")));
}

TEST_F(KeptRows, OfALaunchThatEndedWellLeaveNoFolder) {
  flush(launch(1), {sample(1, 1)});
  run.write("launches/001-x/stderr.log", "a warning\n");
  run.write("launches/001-x/stdout.log", "a table\n");
  run.write("launches/001-x/trace.json", "{}");
  end(1, 1, "ok");
  keep_launches(run.path(), manifest);
  EXPECT_THAT(rows_of(run.path()), ElementsAre("1:1"));
  EXPECT_FALSE(fs::exists(run / "launches/001-x"));
  EXPECT_EQ(run.read("launches/stderr.log"), "001-x:\na warning\n");
  EXPECT_THAT(traces_of(run.path()), ElementsAre(std::pair(1, run / "launches/001-x.trace.json")));
}

TEST(PlanFile, IsTheSameAfterARoundTrip) {
  const TemporaryFolder folder;
  StoredPlan plan;
  PlannedLaunch& launch = plan.launches.emplace_back();
  launch.number = 3;
  launch.name = "epoch-mlp-mirrored-strong-n2";
  launch.arguments = {"--model", "mlp", "--lr"};
  launch.skipped_because = "a \"reason\"";
  launch.guess_seconds = 1.5;
  plan.settings.mpirun_arguments = {"--host", "a,b"};
  plan.settings.environment = {{"OMP_NUM_THREADS", "1"}};
  folder.write(kPlanFile, plan_text(plan));
  const StoredPlan read = read_plan(folder.path());
  EXPECT_EQ(plan_text(read), plan_text(plan));
  EXPECT_EQ(argument_of(read.launches[0], "--model"), "mlp");
  EXPECT_EQ(argument_of(read.launches[0], "--lr"), "") << "nothing follows";
  folder.write(kPlanFile, "{\"schema_version\": 9}");
  EXPECT_THAT(message_of<UsageError>([&] { read_plan(folder.path()); }), HasSubstr("later than"));
  folder.write(kPlanFile, "{");
  EXPECT_THAT(message_of<UsageError>([&] { read_plan(folder.path()); }),
              AllOf(HasSubstr("plan.json:1:2: not JSON"), HasSubstr("expected a plan")));
}

}  // namespace
}  // namespace scalebench
