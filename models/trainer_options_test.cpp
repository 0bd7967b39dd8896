// SPDX-License-Identifier: Apache-2.0
#include "models/trainer_options.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "models/data/sampler.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/models.hpp"
#include "models/step/loss_scale.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

TEST(WorkersOf, CountsTheShareAndNoServers) {
  TrainerOptions options{.gradient_sync = "ps_sync"};
  EXPECT_EQ(workers_of(options, 3), 2);
  options.gradient_sync = "model_split";
  EXPECT_EQ(workers_of(options, 3), 1);
  options = {.gradient_sync = "none", .share_of = 4};
  EXPECT_EQ(workers_of(options, 1), 4);
  options.share_of = 0;
  expect_error([&] { workers_of(options, 1); }, {"share of 0"});
  options.share_of = 2'000'000'000;
  expect_error([&] { workers_of(options, 2); }, {"share of 2000000000", "at most 500000000"});
}

TEST(SeedRule, CountsStepsAsTheDocumentsDo) {
  EXPECT_EQ(seed_steps_per_epoch("mlp", 1), 6000);
  EXPECT_EQ(seed_steps_per_epoch("mlp", 2), 6000);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 1), 500);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 3), 166);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 16), 31);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 500), 1);
}

TEST(SeedRule, RefusesWhatHasNone) {
  expect_error([] { seed_steps_per_epoch("resnet20", 1); }, {"resnet20", "mlp", "mnist_cnn"});
  expect_error([] { seed_steps_per_epoch("mnist_cnn", 501); }, {"501 workers", "at most 500"});
}

TEST(SeedRule, IsThreePassesAndAFifthOnTwoWorkers) {
  std::vector<int> seen(60'000, 0);
  std::int64_t samples = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const Sampler sampler({60'000, 0, 16, 2, rank, 1, seed_steps_per_epoch("mlp", 2)});
    EXPECT_EQ(sampler.steps_per_epoch(), 6000);
    samples += sampler.samples_per_epoch();
    for (const std::int64_t index : sampler.epoch(0)) ++seen[static_cast<std::size_t>(index)];
  }
  EXPECT_EQ(samples, 192'000);  // 3.2 * 60 000
  std::int64_t four_times = 0;
  for (const int times : seen) {
    EXPECT_TRUE(times == 3 || times == 4) << times;
    four_times += times == 4 ? 1 : 0;
  }
  EXPECT_EQ(four_times, 12'000);
}

}  // namespace

namespace {

TEST(LearningRate, ConstantWithoutRules) {
  EXPECT_DOUBLE_EQ(learning_rate({0.001}, 8, 0, 100), 0.001);
  EXPECT_DOUBLE_EQ(learning_rate({0.001}, 8, 12345, 100), 0.001);
}

TEST(LearningRate, LinearInTheRanks) {
  // SMDDP's rule: 0.000125 x size is 0.001 at 8.
  EXPECT_DOUBLE_EQ(learning_rate({0.000125, RateScaling::linear}, 8, 0, 100), 0.001);
}

TEST(LearningRate, HorovodWarmUp) {
  // Horovod's MNIST example: 0.001 x size, 3 epochs, here of 10 steps on 4 ranks. Values from
  // 1/4 * (epoch * 3/3 + 1) with epoch = (step + 1) / 10.
  const RateRule rule{0.001, RateScaling::linear, 3};
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 0, 10), 0.0011);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 9, 10), 0.002);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 10, 10), 0.0021);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 14, 10), 0.0025);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 19, 10), 0.003);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 29, 10), 0.004);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 30, 10), 0.004);
}

TEST(LearningRate, OneRankNeedsNoWarmUp) {
  const RateRule rule{0.001, RateScaling::linear, 3};
  for (const int step : {0, 15, 29, 30}) {
    EXPECT_DOUBLE_EQ(learning_rate(rule, 1, step, 10), 0.001);
  }
}

TEST(ResnetSchedule, IsTfCnnBenchmarks) {
  // 1024 images a step: 0.1 * 1024 / 256 = 0.4; 100 steps an epoch. The warm-up goes from 0 to 0.4
  // in 500 steps, and a step at a boundary still has the rate before it.
  const RateRule rule{.base = 0.1, .schedule = RateSchedule::resnet, .global_batch = 1024};
  const auto rate = [&](std::int64_t step) { return learning_rate(rule, 8, step, 100); };
  EXPECT_DOUBLE_EQ(rate(0), 0);
  EXPECT_DOUBLE_EQ(rate(1), 0.4 / 500);
  EXPECT_DOUBLE_EQ(rate(250), 0.2);
  EXPECT_DOUBLE_EQ(rate(499), 0.4 * 499 / 500);
  EXPECT_DOUBLE_EQ(rate(500), 0.4);
  EXPECT_DOUBLE_EQ(rate(3000), 0.4);
  EXPECT_DOUBLE_EQ(rate(3001), 0.04);
  EXPECT_DOUBLE_EQ(rate(6000), 0.04);
  EXPECT_DOUBLE_EQ(rate(6001), 0.004);
  EXPECT_DOUBLE_EQ(rate(8001), 0.0004);
  EXPECT_DOUBLE_EQ(rate(9000), 0.0004);
  EXPECT_DOUBLE_EQ(rate(9001), 0.00004);
}

TEST(FullRate, IsThatOfAStepAfterTheWarmUp) {
  const RateRule constant{.base = 0.001}, linear{0.001, RateScaling::linear, 3},
      resnet{.base = 0.1, .schedule = RateSchedule::resnet, .global_batch = 1024};
  for (const RateRule& rule : {constant, linear, resnet}) {
    EXPECT_DOUBLE_EQ(full_rate(rule, 8), learning_rate(rule, 8, 100, 10));
  }
  EXPECT_DOUBLE_EQ(full_rate(linear, 8), 0.008);
}

TEST(ResnetSchedule, DependsOnTheBatchAndNotOnTheRanks) {
  const RateRule rule{.base = 0.1, .schedule = RateSchedule::resnet, .global_batch = 256};
  for (const int ranks : {1, 4}) EXPECT_DOUBLE_EQ(learning_rate(rule, ranks, 700, 100), 0.1);
}

}  // namespace

namespace {

TEST(Resolved, FillsInTheModelsDefaults) {
  const ModelInfo& model = model_named("mnist_cnn");
  const TrainerOptions options = resolved({.model = "mnist_cnn"}, 3);
  EXPECT_EQ(options.batch, model.batch);
  EXPECT_EQ(options.global_batch, 3 * model.batch);
  EXPECT_EQ(options.optimizer, model.optimizer);
  EXPECT_EQ(options.rate.base, model.learning_rate);
}

TEST(Resolved, KnowsWhichOptionsGoTogether) {
  expect_error([] { resolved({.module = {.loss = "mse"}}, 1); }, {"mlp", "TorchScript"});
  expect_error([] { resolved({.module = {.shape = {3, 8, 8, 0}}}, 1); }, {"mlp", "TorchScript"});
  expect_error([] { resolved({.model = "no/such.pt"}, 1); }, {"no/such.pt", "No such file"});
  expect_error([] { resolved({.step = StepKind::graph}, 1); }, {"step graph", "mirrored"});
  expect_error(
      [] {
        resolved({.gradient_sync = "none", .precision = Precision::fp16, .step = StepKind::graph},
                 1);
      },
      {"fp16", "bfloat16"});
}

TEST(Resolved, FusedStepsAreChannelsLastAndOnACardAGraph) {
  TrainerOptions options{.gradient_sync = "mirrored", .step = StepKind::fused};
  expect_error([&] { resolved(options, 1); }, {"step fused", "channels last"});
  options.channels_last = true;
  EXPECT_EQ(resolved(options, 2).step, StepKind::fused) << "without a graph any sync will do";
  options.device = ComputeDevice::cuda;
  expect_error([&] { resolved(options, 2); }, {"step graph", "mirrored"});
  options.gradient_sync = "one_device";
  EXPECT_EQ(resolved(options, 1).step, StepKind::fused);
  options.device = ComputeDevice::cpu;
  options.precision = Precision::fp16;
  expect_error([&] { resolved(options, 1); }, {"step fused", "fp16"});
}

TEST(Resolved, LabelsAFileByItsContents) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "my.net.pt").string();
  std::ofstream(path) << "abc";
  const TrainerOptions options =
      resolved({.model = path, .module = {.loss = "nll", .shape = {3, 8, 9, 5}}}, 1);
  EXPECT_EQ(options.choice.label, "my.net-ba7816bf") << "what sha256sum says of abc";
  EXPECT_EQ(options.choice.loss, Loss::nll);
  EXPECT_EQ(options.choice.shape.width, 9);
  EXPECT_EQ(options.batch, 32);
  EXPECT_EQ(resolved({.model = path}, 1).choice.shape.pixels(), 28 * 28);
  expect_error([&] { resolved({.model = path, .module = {.loss = "nl"}}, 1); }, {"nl", "nll"});
}

TEST(LossScale, FollowsGradScaler) {
  LossScale scale(Precision::fp16);
  EXPECT_EQ(scale.scale(), 65536);
  for (int step = 0; step < 1999; ++step) scale.after(true);
  EXPECT_EQ(scale.scale(), 65536);
  scale.after(false);
  EXPECT_EQ(scale.scale(), 32768);
  for (int step = 0; step < 2000; ++step) scale.after(true);
  EXPECT_EQ(scale.scale(), 65536);
  EXPECT_EQ(scale.skipped(), 1);
  for (int step = 0; step < 16; ++step) scale.after(false);
  EXPECT_NE(scale.scale(), 1) << "which stands for no scaling";
  EXPECT_TRUE(scale.sane());
  for (int step = 0; step < 16; ++step) scale.after(false);
  EXPECT_FALSE(scale.sane());
  LossScale resumed(Precision::fp16);
  resumed.restore(scale.state());
  EXPECT_EQ(resumed.state(), scale.state());
  EXPECT_EQ(resumed.scale(), scale.scale());
  LossScale none(Precision::bfloat16);
  none.after(false);
  EXPECT_EQ(none.scale(), 1);
}

TEST(Resolved, SplitsTheGlobalBatch) {
  EXPECT_EQ(resolved({.global_batch = 96}, 3).batch, 32);
  EXPECT_EQ(resolved({.batch = 32, .global_batch = 96}, 3).global_batch, 96);
  EXPECT_EQ(resolved({.batch = 32}, 3).global_batch, 96);
  expect_error([] { resolved({.global_batch = 100}, 3); }, {"100", "3 ranks", "99 or 102"});
  expect_error([] { resolved({.batch = 16, .global_batch = 96}, 3); }, {"16", "96", "disagree"});
}

TEST(Resolved, IsIdempotent) {
  const TrainerOptions once = resolved({.model = "resnet20"}, 2);
  const TrainerOptions twice = resolved(once, 2);
  EXPECT_EQ(once.batch, twice.batch);
  EXPECT_EQ(once.global_batch, twice.global_batch);
}

TEST(Resolved, RefusesUnknownNames) {
  expect_error([] { resolved({.model = "resnet2"}, 1); }, {"resnet2", "did you mean 'resnet20'"});
  expect_error([] { resolved({.gradient_sync = "miror"}, 1); }, {"miror", "mirrored"});
  expect_error([] { resolved({.optimizer = "adm"}, 1); }, {"adm", "adam"});
}

TEST(Resolved, RefusesImpossibleNumbers) {
  expect_error([] { resolved({.batch = -1}, 1); }, {"batch -1"});
  expect_error([] { resolved({.global_batch = -4}, 2); }, {"global batch -4"});
  constexpr std::int64_t kHuge = 4'611'686'018'427'387'905;  // times two overflows
  expect_error([] { resolved({.batch = kHuge}, 2); }, {"of each of 2 workers", "500000000"});
  expect_error([] { resolved({.global_batch = kHuge}, 2); }, {"at most 1000000000"});
  expect_error([] { resolved({.samples_per_epoch = kHuge}, 2); }, {"0 to 1000000000000"});
  expect_error([] { resolved({.samples_per_epoch = -1}, 2); }, {"-1 samples"});
  expect_error([] { resolved({.rate = {.base = -1}}, 1); }, {"learning rate -1"});
  expect_error([] { resolved({.rate = {.warmup_epochs = -1}}, 1); }, {"-1 warm-up epochs"});
  for (const int workers : {1, 4}) {
    expect_error([=] { resolved({.rate = {.warmup_epochs = 1}}, workers); },
                 {"warm-up of 1 epochs", "without linear scaling"});
  }
}

TEST(Resolved, GivesTheResnetScheduleItsBaseAndBatch) {
  TrainerOptions options{.model = "resnet20"};
  options.rate.schedule = RateSchedule::resnet;
  const RateRule rate = resolved(options, 4).rate;
  EXPECT_EQ(rate.base, 0.1);
  EXPECT_EQ(rate.global_batch, 4 * model_named("resnet20").batch);
  options.rate.base = 0.2;
  EXPECT_EQ(resolved(resolved(options, 4), 4).rate.base, 0.2);
  options.rate.scaling = RateScaling::linear;
  expect_error([&] { resolved(options, 4); }, {"resnet schedule", "other scaling"});
  options.rate.scaling = RateScaling::none;
  options.rate.warmup_epochs = 1;
  expect_error([&] { resolved(options, 4); }, {"resnet schedule", "warm-up"});
}

TEST(Resolved, RefusesWhatTheSeedRuleExcludes) {
  TrainerOptions options{.epoch_rule = EpochRule::seed};
  EXPECT_EQ(resolved(options, 2).batch, 16);
  options.samples_per_epoch = 100;
  expect_error([&] { resolved(options, 2); }, {"epoch rule seed", "100 samples"});
  options.samples_per_epoch = 0;
  options.model = "resnet20";
  expect_error([&] { resolved(options, 2); }, {"epoch rule seed", "resnet20"});
}

TEST(Resolved, RefusesImpossibleLoaders) {
  expect_error([] { resolved({.loader_threads = -1}, 1); }, {"-1 loader threads", "0 to 256"});
  expect_error([] { resolved({.loader_threads = 257}, 1); }, {"257 loader threads"});
}

TEST(GradientSyncTable, SaysWhoPromisesEqualReplicas) {
  EXPECT_FALSE(gradient_sync_named("none").equal_replicas);
  EXPECT_TRUE(gradient_sync_named("one_device").equal_replicas);
  EXPECT_TRUE(gradient_sync_named("mirrored").equal_replicas);
}

}  // namespace

}  // namespace scalebench
