// SPDX-License-Identifier: Apache-2.0
// What a prediction is told of a run that holds epochs of two sizes, which nothing but the number
// of their images tells apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/study/prediction/rows.hpp"

namespace scalebench::input_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr int kBatch = 64;

/// A launch's epoch of so many images with a time of `step` for each 64 of them.
ResultRow epoch(const std::string& sync, int ranks, int images, double step, int share_of = 1) {
  ResultRow row(epoch_schema());
  row.set("origin", "measured").set("status", "ok").set("model", "mlp");
  row.set("case_id", sync + std::to_string(images) + "/" + std::to_string(share_of));
  row.set("gradient_sync", sync).set("transport", "mpi").set("allreduce", "ring");
  row.set("device", "cpu").set("scaling", "strong").set("global_batch", kBatch);
  row.set("batch", kBatch / (ranks * share_of)).set("ranks", ranks);
  row.set("nodes", 1).set("share_of", share_of).set("samples", images / share_of);
  for (const char* state : {"transfer", "wait_static", "wait_jitter", "input", "evaluation"}) {
    row.set(std::string(state) + "_seconds", 0);
  }
  const double seconds = step * images / kBatch;
  return row.set("compute_seconds", seconds).set("seconds", seconds);
}

/// Launches of 12 800 and of 51 200 images in turns; a step of a share is half as long, and a
/// twentieth longer in the larger epoch.
StoredRun run_of_two_sizes() {
  StoredRun run;
  const auto add = [&](const ResultRow& row) {
    std::vector<LaunchRows>& launches = run.launches["epoch.csv"];
    const int number = static_cast<int>(launches.size()) + 1;
    launches.push_back({number, {row}, {}});
  };
  for (const int images : {12'800, 51'200}) {
    add(epoch("one_device", 1, images, 0.010));
    add(epoch("none", 1, images, 0.010));
    add(epoch("none", 1, images, images == 12'800 ? 0.005 : 0.00525, 2));
    add(epoch("mirrored", 2, images, 0.006));
  }
  ResultRow allreduce(allreduce_schema());
  allreduce.set("origin", "measured").set("status", "ok").set("algorithm", "ring");
  allreduce.set("transport", "mpi").set("memory", "host").set("dtype", "float").set("op", "sum");
  allreduce.set("placement", "in_place").set("mode", "isolated").set("cache", "warm");
  allreduce.set("size_bytes", 1024).set("ranks", 2).set("nodes", 1);
  run.launches["allreduce.csv"].push_back({9, {allreduce.set("seconds_median", 1e-5)}, {}});
  return run;
}

/// Each epoch of one device has a profile of as many steps as its launch has a number.
Profiles profiles() {
  Profiles profiles;
  for (const int launch : {1, 5}) profiles[launch].step_seconds.assign(launch, 0.01);
  return profiles;
}

TEST(CasesOfRun, BeginFromTheEpochOfAsManyImages) {
  const auto cases = cases_of_run(run_of_two_sizes(), profiles());
  ASSERT_THAT(cases, SizeIs(2));
  for (const std::size_t at : {0U, 1U}) {
    const PredictionCase& of = cases[at].of;
    const double images = at == 0 ? 12'800 : 51'200;
    EXPECT_EQ(cases[at].missing, "");
    EXPECT_EQ(of.one.samples, images);
    ASSERT_THAT(of.one.launches, SizeIs(1)) << "H is of its own size alone";
    EXPECT_DOUBLE_EQ(of.one.launches[0].seconds, 0.010 * images / kBatch);
    ASSERT_THAT(of.profiles, SizeIs(1));
    EXPECT_THAT(of.profiles[0].step_seconds, SizeIs(at == 0 ? 1 : 5));
    ASSERT_THAT(of.shares, SizeIs(1));
    EXPECT_DOUBLE_EQ(of.shares[0].step.relative, at == 0 ? 0.5 : 0.525) << "of the whole batch's";
  }
}

TEST(CasesOfRun, TakeTheNearestSizeWhereTheirOwnWasNotMeasured) {
  StoredRun run = run_of_two_sizes();
  std::erase_if(run.launches["epoch.csv"], [](const LaunchRows& launch) {
    return launch.launch == 5 || launch.launch == 7;  // one_device and the share
  });
  const auto cases = cases_of_run(run, profiles());
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[1].of.one.samples, 12'800);
  ASSERT_THAT(cases[1].of.shares, SizeIs(1));
  EXPECT_DOUBLE_EQ(cases[1].of.shares[0].step.relative, 0.5) << "a step is as long in any epoch";
}

TEST(CasesOfRun, NeverMixEmulatedRanksWithMeasuredOnes) {
  for (const bool emulated_first : {false, true}) {
    StoredRun run = run_of_two_sizes();
    std::vector<LaunchRows>& launches = run.launches["epoch.csv"];
    launches.resize(4);  // of one size
    // Of the same case, on more ranks than there are cores.
    ResultRow emulated = launches[3].cases[0];
    emulated.set("origin", "emulated").set("ranks", 4).set("batch", kBatch / 4);
    launches.insert(emulated_first ? launches.begin() : launches.end(), {10, {emulated}, {}});
    ResultRow reduced = run.launches["allreduce.csv"][0].cases[0];
    reduced.set("origin", "emulated").set("ranks", 4);
    run.launches["allreduce.csv"].push_back({11, {reduced}, {}});
    const auto cases = cases_of_run(run, profiles());
    ASSERT_THAT(cases, SizeIs(2));
    const CaseOfRun &measured = cases[0], &other = cases[1];
    EXPECT_EQ(measured.missing, "");
    ASSERT_THAT(measured.measured, SizeIs(1));
    EXPECT_EQ(measured.measured[0].ranks, 2);
    EXPECT_THAT(measured.of.curves.at("ring"), SizeIs(1)) << "of two measured ranks";
    EXPECT_EQ(other.missing, "H is measured, this is emulated");
  }
}

}  // namespace
}  // namespace scalebench::input_test
