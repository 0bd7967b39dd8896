// SPDX-License-Identifier: Apache-2.0
// Which launches two [[epoch]] have in common, and whether a batch can be divided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/study/plan/plan.hpp"
#include "bench/study/plan/testing.hpp"
#include "kernels/testing.hpp"

namespace scalebench::plan_epochs_test {
namespace {

using testing::HasSubstr;

/// Of studies that are spelled out, as those of a file are. `on_cpus`: there are no GPUs.
std::vector<PlannedLaunch> plan_as_read(StudyConfig config, const PlanLimits& limits,
                                        bool on_cpus = false) {
  for (EpochStudy& study : config.epochs) spell_out(study, on_cpus);
  return plan_of(config, limits);
}

TEST(PlanOfEpochs, StartsABaseOnceThatTwoStudiesHaveInCommon) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp(), mlp()};
  config.epochs[0].split_compute = config.epochs[1].split_compute = true;
  config.epochs[1].allreduce = "direct";
  config.epochs[1].transport = "shared_memory";
  EXPECT_EQ(names_of(plan_as_read(config, {.devices = 2})).size(), 5U) << "mirrored alone twice";
  // Of another batch all of them are other cases.
  config.epochs[1].global_batch = 128;
  const std::vector<std::string> names = names_of(plan_as_read(config, {.devices = 2}));
  const std::set<std::string> entries(names.begin(), names.end());
  EXPECT_EQ(names.size(), 8U);
  EXPECT_EQ(entries.size(), 8U) << "rows tell their entries apart by these";
  for (const std::string& name : names) {
    EXPECT_TRUE(name.ends_with(".2") || entries.contains(name + ".2")) << name;
  }
}

TEST(PlanOfEpochs, StartsOnceWhatOneStudySpellsOutAndTheOtherLeavesToItsDefault) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp(0), mlp(0)};
  const auto starts = [&] { return names_of(plan_as_read(config, {.devices = 2})).size(); };
  EpochStudy& spelled = config.epochs[1];
  spelled.global_batch = 16;
  spelled.optimizer = "adam";
  spelled.learning_rate = 0.001;
  EXPECT_EQ(starts(), 3U) << "none, one_device and mirrored";
  spelled.gradient_syncs = {"multi_worker"};
  EXPECT_EQ(starts(), 4U);
  spelled.gradient_syncs = {"mirrored"};
  spelled.learning_rate = 0.002;
  EXPECT_EQ(starts(), 6U);
  spelled.learning_rate = 0;
  spelled.optimizer = "sgd";
  EXPECT_EQ(starts(), 6U);
  spelled.optimizer = "";
  for (EpochStudy& study : config.epochs) {
    study.scaling = "weak";
    study.samples = 640;
    study.global_batch = 0;
  }
  spelled.batch_per_rank = 16;
  EXPECT_EQ(starts(), 3U);
  spelled.batch_per_rank = 32;
  EXPECT_EQ(starts(), 6U);
  spelled.batch_per_rank = 16;
  spelled.epochs = 2;
  EXPECT_THAT(message_of<UsageError>(starts), HasSubstr("differ in epochs or evaluate"));
}

TEST(PlanOfEpochs, StartsOnceWhatTrainsOnTheWholeSetAndSaysSo) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp(), mlp()};
  const auto starts = [&] { return names_of(plan_as_read(config, {.devices = 2})).size(); };
  config.epochs[0].data = "synthetic";
  config.epochs[1].data = "synthetic:60000";
  EXPECT_EQ(starts(), 3U);
  for (EpochStudy& study : config.epochs) study.data = "synthetic:2000";
  config.epochs[1].samples = 2000;
  EXPECT_EQ(starts(), 3U);
  config.epochs[1].samples = 1999;
  EXPECT_EQ(starts(), 6U);
  // Of weak scaling each rank has as many.
  for (EpochStudy& study : config.epochs) {
    study.scaling = "weak";
    study.global_batch = 0;
    study.samples = 1000;
  }
  EXPECT_EQ(starts(), 3U);
  config.epochs[1].samples = 2000;
  EXPECT_EQ(starts(), 6U);
}

TEST(PlanOfEpochs, StartsOnceWhatTravelsOneWayByTwoNames) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp(), mlp()};
  config.epochs[1].transport = "mpi";
  const auto starts = [&](bool on_cpus) {
    return names_of(plan_as_read(config, {.devices = 2}, on_cpus)).size();
  };
  EXPECT_EQ(starts(false), 4U) << "on GPUs auto is another transport";
  EXPECT_EQ(starts(true), 3U);
  config.epochs[1].allreduce = "recursive_doubling";
  EXPECT_EQ(starts(true), 4U);
  // By no allreduce at all.
  for (EpochStudy& study : config.epochs) study.gradient_syncs = {"zero1"};
  EXPECT_EQ(starts(true), 3U);
}

TEST(PlanOfEpochs, RefusesStudiesWhoseRowsNothingTellsApart) {
  StudyConfig config;
  config.ranks = {2};
  config.epochs = {mlp(), mlp()};
  config.epochs[1].allreduce = "direct";
  config.epochs[1].epochs = 3;
  const auto complaint = [&] {
    return message_of<UsageError>([&] { plan_as_read(config, {.devices = 2}); });
  };
  EXPECT_THAT(complaint(), HasSubstr("[[epoch]] 1 and 2 have epoch-mlp-none-strong-n1 in common"));
  config.epochs[1].epochs = config.epochs[0].epochs;
  config.epochs[1].evaluate = false;
  EXPECT_THAT(complaint(), HasSubstr("epochs or evaluate"));
  config.epochs[1].samples = 6000;
  EXPECT_NO_THROW(plan_as_read(config, {.devices = 2}));
}

TEST(PlanOfEpochs, SkipsNThatDoesNotDivideTheModelsOwnBatch) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {3};
  config.epochs = {mlp(0)};
  for (const PlannedLaunch& launch : plan_as_read(config, {.devices = 3})) {
    const std::string why = launch.ranks == 3 ? "global batch 16 cannot be split over 3 ranks" : "";
    EXPECT_EQ(launch.skipped_because, why) << launch.name;
  }
}

TEST(PlanOfEpochs, SplitsABatchOverTheRanksThatSeeImages) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1, 3};
  config.epochs = {mlp(64)};
  config.epochs[0].gradient_syncs = {"ps_sync", "ps_async", "model_split"};
  for (const PlannedLaunch& launch : plan_as_read(config, {.devices = 3})) {
    EXPECT_EQ(launch.skipped_because, "") << launch.name;
  }
  config.epochs = {mlp(63)};
  config.epochs[0].gradient_syncs = {"ps_sync", "mirrored"};
  std::map<std::string, std::string> skipped;
  for (const PlannedLaunch& launch : plan_as_read(config, {.devices = 3})) {
    if (!launch.skipped_because.empty()) skipped[launch.name] = launch.skipped_because;
  }
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(skipped["epoch-mlp-ps_sync-strong-n3"],
            "global batch 63 cannot be split over 2 workers");
}

}  // namespace
}  // namespace scalebench::plan_epochs_test
