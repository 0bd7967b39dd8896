// SPDX-License-Identifier: Apache-2.0
// The order of launches, the baselines that every epoch study gets, and what is refused.
#include "bench/study/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/study/plan/testing.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;

/// One of everything on 1, 2 and 4 ranks.
StudyConfig everything() {
  StudyConfig config;
  config.launches = 4;
  config.ranks = {1, 2, 4};
  config.seed = 7;
  config.allreduce.emplace();
  config.throughput.emplace().models = {"mlp"};
  config.epochs = {mlp()};
  return config;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

TEST(Plan, HoldsEveryProgramAndNOnceARound) {
  const auto plan = plan_of(everything(), {.devices = 4});
  const std::vector<std::string> once = sorted(names_of(plan, 0));
  EXPECT_THAT(once, ElementsAre("allreduce-n2", "allreduce-n4", "epoch-mlp-mirrored-strong-n2",
                                "epoch-mlp-mirrored-strong-n4", "epoch-mlp-none-strong-n1",
                                "epoch-mlp-one_device-strong-n1", "throughput-mlp-n1",
                                "throughput-mlp-n2", "throughput-mlp-n4"));
  ASSERT_EQ(plan.size(), 4 * once.size());
  for (int round = 1; round < 4; ++round) EXPECT_EQ(sorted(names_of(plan, round)), once);
}

TEST(Plan, ThroughputSaysOnlyWhatIsNotUsual) {
  StudyConfig config = everything();
  config.launches = 1;
  config.epochs.clear();
  config.allreduce.reset();
  config.ranks = {1};
  const PlannedLaunch plain = plan_of(config, {.devices = 4}).front();
  EXPECT_EQ(argument_of(plain, "--batch-per-rank"), "0");
  EXPECT_EQ(argument_of(plain, "--precision"), "");
  config.throughput->batches_per_rank = {32, 64};
  config.throughput->precisions = {"float32", "bfloat16"};
  config.throughput->steps = {"eager", "graph"};
  const PlannedLaunch many = plan_of(config, {.devices = 4}).front();
  EXPECT_EQ(argument_of(many, "--batch-per-rank"), "32,64");
  EXPECT_EQ(argument_of(many, "--precision"), "float32,bfloat16");
  EXPECT_EQ(argument_of(many, "--step"), "eager,graph");
  EXPECT_GT(many.guess_seconds, 4 * plain.guess_seconds);
}

TEST(Plan, GuessesWhatStopRulesTakeAndNotWhatTheyMay) {
  // Two studies of results/reference, and what their launches took on that machine.
  StudyConfig config;
  config.ranks = {2};
  AllreduceStudy& study = config.allreduce.emplace();
  study.algorithms = {"ring", "native", "direct"};
  study.min_bytes = "1K";
  study.max_bytes = "16M";
  study.factor = 16;
  study.max_seconds = 0.25;
  const PlannedLaunch small = plan_of(config, {.devices = 2}).front();
  EXPECT_THAT(small.guess_seconds, AllOf(Gt(4.86 / 1.5), Lt(4.86 * 1.5)));
  EXPECT_GT(small.most_seconds, small.guess_seconds);
  study.algorithms = {"all"};
  study.min_bytes = "8";
  study.max_bytes = "64MiB";
  study.factor = 2;
  study.max_seconds = 0.1;
  const PlannedLaunch large = plan_of(config, {.devices = 2}).front();
  EXPECT_THAT(large.guess_seconds, AllOf(Gt(138.8 / 1.5), Lt(138.8 * 1.5)));
  // A longer cap is no longer time for sizes that are decided before it.
  study.max_seconds = 100;
  study.max_bytes = "1KiB";
  const PlannedLaunch capped = plan_of(config, {.devices = 2}).front();
  EXPECT_LT(capped.guess_seconds, large.guess_seconds);
  EXPECT_GT(capped.most_seconds, 100 * capped.guess_seconds);
}

TEST(Plan, GuessesTheLookAtSeveralHosts) {
  StudyConfig small;
  AllreduceStudy& study = small.allreduce.emplace();
  study.algorithms = {"ring"};
  study.transport = "mpi";
  study.min_bytes = study.max_bytes = "64KiB";
  study.max_seconds = 0.2;
  small.layouts = {{1, 4}, {2, 1}, {3, 1}, {4, 1}};
  StudyConfig sweep = small;
  sweep.allreduce->algorithms = {"ring", "native", "hierarchical"};
  sweep.allreduce->min_bytes = "1KiB";
  sweep.allreduce->max_bytes = "1MiB";
  sweep.allreduce->factor = 32;
  sweep.allreduce->max_seconds = 0.25;
  sweep.layouts.erase(sweep.layouts.begin());
  StudyConfig epoch = sweep;
  epoch.allreduce.reset();
  epoch.epochs = {mlp(120)};
  epoch.epochs[0].samples = 12000;
  epoch.epochs[0].evaluate = false;
  // What they took in a cluster in a box with nothing beside it, 1 Gbit/s on two cores: scripts/
  // cluster up --slots 1, then cluster run -- scalebench run CONFIG --layouts 2x1 --oversubscribe.
  // Of the look, hosts and rounds are 2 and 1, 3 and 3, 4 and 3.
  const std::map<std::string, double> took_small{{"allreduce-1x4", 1.4},
                                                 {"allreduce-2x1", 2.6},
                                                 {"allreduce-3x1", 4.3},
                                                 {"allreduce-4x1", 4.8}};
  const std::map<std::string, double> took_sweep{
      {"allreduce-2x1", 5.4}, {"allreduce-3x1", 8.0}, {"allreduce-4x1", 8.3}};
  const std::map<std::string, double> took_epoch{{"epoch-mlp-none-strong-1x1", 1.2},
                                                 {"epoch-mlp-one_device-strong-1x1", 1.2},
                                                 {"epoch-mlp-mirrored-strong-2x1", 3.8},
                                                 {"epoch-mlp-mirrored-strong-3x1", 6.3},
                                                 {"epoch-mlp-mirrored-strong-4x1", 7.0}};
  for (const auto& [config, took] :
       {std::pair(&small, &took_small), {&sweep, &took_sweep}, {&epoch, &took_epoch}}) {
    std::set<std::string> guessed;
    for (const PlannedLaunch& launch :
         plan_of(*config, {.devices = 16, .hosts = parse_hosts("a:4,b:4,c:4,d:4", "test")})) {
      const double seconds = took->at(launch.name);
      EXPECT_THAT(launch.guess_seconds, AllOf(Gt(seconds / 1.5), Lt(seconds * 1.5))) << launch.name;
      EXPECT_GE(launch.most_seconds, launch.guess_seconds);
      guessed.insert(launch.name);
    }
    EXPECT_EQ(guessed.size(), took->size());
  }
}

TEST(Plan, GuessesAShareOfAnEpochAsAShare) {
  StudyConfig config;
  config.ranks = {1, 2};
  EpochStudy& study = config.epochs.emplace_back();
  study.model = "mnist_cnn";
  study.global_batch = 128;
  study.samples = 60000;
  study.split_compute = true;
  std::map<std::string, double> guess;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
    guess[launch.name] = launch.guess_seconds;
  }
  // As results/reference took them.
  for (const auto& [name, took] : {std::pair("epoch-mnist_cnn-none-strong-n1", 68.0),
                                   {"epoch-mnist_cnn-none-strong-n1-share-of-2", 35.1},
                                   {"epoch-mnist_cnn-mirrored-strong-n2", 39.2}}) {
    EXPECT_THAT(guess.at(name), AllOf(Gt(took / 1.5), Lt(took * 1.5))) << name;
  }
}

TEST(Plan, HasThePlainLoopOnlyWhereItIsAskedFor) {
  StudyConfig config = everything();
  const auto has_plain = [&] {
    const auto plan = plan_of(config, {.devices = 4});
    return std::ranges::any_of(plan, [](auto& one) { return one.gradient_sync == "none"; });
  };
  EXPECT_TRUE(has_plain());
  for (EpochStudy& study : config.epochs) study.plain_loop = false;
  EXPECT_FALSE(has_plain());
}

TEST(Plan, SweepsHostsAndRanksOfEach) {
  StudyConfig config = everything();
  config.ranks.clear();
  config.throughput.reset();
  config.epochs[0].split_compute = true;
  const PlanLimits limits{.devices = 4, .hosts = parse_hosts("a:2,b:2")};
  const auto plan = plan_of(config, limits);
  EXPECT_THAT(
      sorted(names_of(plan, 0)),
      ElementsAre("allreduce-1x2", "allreduce-2x1", "allreduce-2x2",
                  "epoch-mlp-mirrored-strong-1x2", "epoch-mlp-mirrored-strong-2x1",
                  "epoch-mlp-mirrored-strong-2x2", "epoch-mlp-none-strong-1x1",
                  "epoch-mlp-none-strong-1x1-share-of-2", "epoch-mlp-none-strong-1x1-share-of-4",
                  "epoch-mlp-one_device-strong-1x1"));
  for (const PlannedLaunch& launch : plan) EXPECT_EQ(launch.ranks, launch.nodes * launch.per_node);
}

TEST(Plan, TakesTheLayoutsThatAreAskedForAndTheBase) {
  StudyConfig config;
  config.layouts = parse_layouts("2x2,4x1");
  config.launches = 1;
  config.epochs = {mlp()};
  const PlanLimits limits{.devices = 8, .hosts = parse_hosts("a:2,b:2,c:2,d:2")};
  EXPECT_THAT(sorted(names_of(plan_of(config, limits))),
              ElementsAre("epoch-mlp-mirrored-strong-2x2", "epoch-mlp-mirrored-strong-4x1",
                          "epoch-mlp-none-strong-1x1", "epoch-mlp-one_device-strong-1x1"));
  config.layouts = parse_layouts("2x4");
  EXPECT_THAT(message_of<UsageError>([&] { plan_of(config, limits); }),
              HasSubstr("layout 2x4 does not fit"));
  EXPECT_THAT(message_of<UsageError>([&] { plan_of(config, {.devices = 8}); }),
              HasSubstr("it takes 2 hosts, and there are 1; name them: --hosts h1:4,h2:4"));
  config.layouts = parse_layouts("1x4");
  EXPECT_THAT(names_of(plan_of(config, {.devices = 8})),
              testing::Contains("epoch-mlp-mirrored-strong-n4"));
}

TEST(Plan, FinishesARoundBeforeTheNextAndCountsFromOne) {
  const auto plan = plan_of(everything(), {.devices = 4});
  int number = 0, round = 0;
  for (const PlannedLaunch& launch : plan) {
    EXPECT_EQ(launch.number, ++number);
    EXPECT_GE(launch.round, round);
    round = launch.round;
  }
  EXPECT_EQ(round, 3);
}

TEST(Plan, IsShuffledAnewEveryRoundByTheSeed) {
  const auto plan = plan_of(everything(), {.devices = 4});
  std::set<std::vector<std::string>> orders;
  for (int round = 0; round < 4; ++round) orders.insert(names_of(plan, round));
  EXPECT_GT(orders.size(), 1U) << "all rounds in the same order";

  StudyConfig other = everything();
  EXPECT_EQ(names_of(plan_of(other, {.devices = 4})), names_of(plan));
  other.seed = 8;
  EXPECT_NE(names_of(plan_of(other, {.devices = 4})), names_of(plan));
}

TEST(Plan, KeepsWhatIsComparedSideBySide) {
  StudyConfig config = everything();
  config.epochs.push_back(mlp(128));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> families;
    for (const PlannedLaunch& launch : plan_of(config, {.devices = 4})) {
      if (launch.round != round) continue;
      std::string family = launch.program;
      if (family == "bench_epoch") family += std::to_string(launch.study);
      if (families.empty() || families.back() != family) families.push_back(family);
    }
    EXPECT_EQ(families.size(), 4U) << testing::PrintToString(families);
  }
}

TEST(Plan, DependsOnNothingButItsInputs) {
  const auto a = plan_of(everything(), {.devices = 4});
  const auto b = plan_of(everything(), {.devices = 4});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].arguments, b[i].arguments);
}

TEST(Plan, GivesEachAllreduceLaunchAShuffleOfItsOwn) {
  std::set<std::string> seeds;
  for (const PlannedLaunch& launch : plan_of(everything(), {.devices = 4})) {
    if (launch.name == "allreduce-n2") seeds.insert(argument_of(launch, "--seed"));
    // The weights and the data stay the same: only the order of measuring may change.
    if (launch.program == "bench_epoch") {
      EXPECT_EQ(argument_of(launch, "--seed"), "7");
    }
  }
  EXPECT_THAT(seeds, ElementsAre("7000", "7001", "7002", "7003"));
}

TEST(Plan, AddsBothBaselinesOnOneRankThoughNobodyAskedForIt) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp()};
  EXPECT_THAT(sorted(names_of(plan_of(config, {.devices = 2}))),
              ElementsAre("epoch-mlp-mirrored-strong-n2", "epoch-mlp-none-strong-n1",
                          "epoch-mlp-one_device-strong-n1"));
}

TEST(Plan, NeedsNoSingleRankForAllreduce) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.allreduce.emplace();
  EXPECT_THAT(names_of(plan_of(config, {.devices = 2})), ElementsAre("allreduce-n2"));
}

TEST(Plan, CountsARepeatedNumberOfRanksOnce) {
  StudyConfig config = everything();
  config.launches = 1;
  config.ranks = {2, 1, 2, 2};
  EXPECT_EQ(plan_of(config, {.devices = 2}).size(), 6U);
}

TEST(Plan, TakesAllDevicesByDefault) {
  StudyConfig config;
  config.launches = 1;
  config.epochs = {mlp(60)};
  std::set<int> ranks;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 6})) ranks.insert(launch.ranks);
  EXPECT_THAT(ranks, ElementsAre(1, 2, 4, 6));
}

TEST(Plan, RefusesMoreRanksThanDevicesUnlessAskedTo) {
  StudyConfig config = everything();
  const std::string message =
      message_of<UsageError>([&] { plan_of(config, {.devices = 2, .oversubscribe = false}); });
  EXPECT_THAT(message, AllOf(HasSubstr("4 ranks do not fit evenly on localhost:2"),
                             HasSubstr("--oversubscribe")));
  EXPECT_EQ(plan_of(config, {.devices = 2, .oversubscribe = true}).size(), 36U);
}

TEST(Plan, SkipsAnIndivisibleBatchWithTheReason) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1, 2, 3};
  config.epochs = {mlp(64)};
  std::map<std::string, std::string> skipped;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 3})) {
    if (!launch.skipped_because.empty()) skipped[launch.name] = launch.skipped_because;
  }
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(skipped["epoch-mlp-mirrored-strong-n3"],
            "global batch 64 cannot be split over 3 ranks");
}

TEST(Plan, KeepsTheBatchOfARankInWeakScaling) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1, 3};
  config.epochs = {mlp(0)};
  config.epochs[0].scaling = "weak";
  config.epochs[0].batch_per_rank = 64;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 3})) {
    EXPECT_EQ(launch.skipped_because, "");
    EXPECT_EQ(argument_of(launch, "--batch-per-rank"), "64");
    EXPECT_EQ(argument_of(launch, "--global-batch"), "");
  }
}

TEST(Plan, AddsOneRankAloneWithItsShare) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.epochs = {mlp()};
  config.epochs[0].split_compute = true;
  const auto plan = plan_of(config, {2, false});
  EXPECT_THAT(sorted(names_of(plan)),
              ElementsAre("epoch-mlp-mirrored-strong-n2", "epoch-mlp-none-strong-n1",
                          "epoch-mlp-none-strong-n1-share-of-2", "epoch-mlp-one_device-strong-n1"));
  for (const PlannedLaunch& launch : plan) {
    const bool share = launch.name.ends_with("share-of-2");
    EXPECT_EQ(argument_of(launch, "--share-of"), share ? "2" : "") << launch.name;
    EXPECT_TRUE(!share || launch.ranks == 1);
  }
  config.epochs[0] = mlp(33);
  config.epochs[0].split_compute = true;
  for (const PlannedLaunch& launch : plan_of(config, {2, false})) {
    const bool on_one = launch.ranks == 1 && argument_of(launch, "--share-of").empty();
    EXPECT_EQ(launch.skipped_because.empty(), on_one) << launch.name;
  }
}

TEST(Plan, EvaluatesWhatTheStudySaysButNeverThePlainLoop) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1};
  config.epochs = {mlp()};
  for (const bool evaluate : {true, false}) {
    config.epochs[0].evaluate = evaluate;
    for (const PlannedLaunch& launch : plan_of(config, {.devices = 1})) {
      const bool evaluates =
          std::ranges::find(launch.arguments, "--no-evaluation") == launch.arguments.end();
      EXPECT_EQ(evaluates, evaluate && launch.gradient_sync == "one_device") << launch.name;
    }
  }
}

TEST(Plan, PutsEveryWordOfTheStudyOnTheCommandLine) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {2};
  config.threads = 3;
  config.device = "cpu";
  config.epochs = {mlp(96)};
  EpochStudy& study = config.epochs[0];
  study.data = "synthetic:600";
  study.samples = 480;
  study.epochs = 2;
  study.optimizer = "sgd";
  study.learning_rate = 0.05;
  study.allreduce = "native";
  study.target_accuracy = 0.9;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
    const bool sends = launch.gradient_sync == "mirrored";
    const std::map<std::string, std::string> expected{{"--model", "mlp"},
                                                      {"--data", "synthetic:600"},
                                                      {"--global-batch", "96"},
                                                      {"--samples", "480"},
                                                      {"--epochs", "2"},
                                                      {"--optimizer", "sgd"},
                                                      {"--lr", "0.05"},
                                                      {"--allreduce", sends ? "native" : ""},
                                                      {"--threads", "3"},
                                                      {"--device", "cpu"},
                                                      {"--scaling", "strong"},
                                                      {"--transport", sends ? "auto" : ""},
                                                      {"--target-accuracy", "0.9"},
                                                      {"--gradient-sync", launch.gradient_sync}};
    for (const auto& [option, value] : expected) EXPECT_EQ(argument_of(launch, option), value);
    // A target is an evaluation, also of the plain loop.
    EXPECT_EQ(std::ranges::count(launch.arguments, "--no-evaluation"), 0);
    EXPECT_EQ(std::ranges::count(launch.arguments, "--monitor"), 1);
  }
}

TEST(Plan, EveryProgramIsToldWhichDevices) {
  StudyConfig config = everything();
  config.ranks = {2};
  config.device = "cuda";
  config.devices = "2,0";
  config.share_devices = true;
  std::set<std::string> programs;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
    programs.insert(launch.program);
    EXPECT_EQ(argument_of(launch, "--device"), "cuda") << launch.name;
    EXPECT_EQ(argument_of(launch, "--devices"), "2,0") << launch.name;
    EXPECT_EQ(std::ranges::count(launch.arguments, "--share-devices"), 1) << launch.name;
  }
  EXPECT_EQ(programs.size(), 3U);
  for (const PlannedLaunch& launch : plan_of(everything(), {.devices = 4})) {
    EXPECT_EQ(std::ranges::count(launch.arguments, "--share-devices"), 0);
    EXPECT_EQ(std::ranges::count(launch.arguments, "--devices"), 0);
  }
}

}  // namespace
}  // namespace scalebench
