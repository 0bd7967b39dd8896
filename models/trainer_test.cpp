// SPDX-License-Identifier: Apache-2.0
#include "models/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/network/models.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

class Trace : public StepTrace {
 public:
  void begin_step() override {}
  void posted_ago(Exchange, double) override {}
  void ended_ago(double) override {}
  void enter(Phase phase) override { phases.push_back(phase); }
  std::vector<Phase> phases;
};

/// What each rank saw, gathered from threads.
struct Outcome {
  std::vector<double> losses;
  double accuracy = 0;
  bool equal = true;
};

/// Trains some epochs on threads as ranks and returns rank 0's outcome, its losses being means over
/// the ranks.
Outcome train(const TrainerOptions& options, int ranks, int epochs) {
  Outcome outcome;
  outcome.losses.assign(static_cast<std::size_t>(epochs), 0);
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer(options, communicator, communicator, trace);
    bool equal = true;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const EpochResult result = trainer.train_epoch(epoch);
      EXPECT_EQ(result.samples, result.steps * trainer.options().batch);
      equal = trainer.replicas_equal() && equal;
      const std::lock_guard lock(mutex);
      outcome.losses[static_cast<std::size_t>(epoch)] += result.loss / ranks;
    }
    const double accuracy = trainer.evaluate().accuracy;
    equal = trainer.replicas_equal() && equal;
    const std::lock_guard lock(mutex);
    if (communicator.rank() == 0) {
      outcome.accuracy = accuracy;
      outcome.equal = equal;
    } else {
      EXPECT_EQ(trainer.parameter_count(), model_named(options.model).parameters);
    }
  });
  return outcome;
}

TEST(Trainer, TwoRanksEqualOneWithTwiceTheBatch) {
  // One step an epoch, so that the loss of every step is seen.
  TrainerOptions options{.dataset = "synthetic:600"};
  options.optimizer = "sgd";
  options.rate.base = 0.05;
  options.gradient_sync = "none";
  options.batch = 32;
  options.samples_per_epoch = 32;
  const Outcome one = train(options, 1, 10);
  options.gradient_sync = "mirrored";
  options.batch = 16;
  for (const char* algorithm : {"naive", "ring"}) {
    SCOPED_TRACE(algorithm);
    options.allreduce = &allreduce_named(algorithm);
    const Outcome two = train(options, 2, 10);
    EXPECT_TRUE(two.equal);
    for (std::size_t step = 0; step < one.losses.size(); ++step) {
      EXPECT_NEAR(two.losses[step], one.losses[step], 1e-5) << "step " << step;
    }
  }
}

TEST(Trainer, OneDeviceAndMirroredAloneEqualThePlainLoopBitwise) {
  TrainerOptions options{.dataset = "synthetic:600", .gradient_sync = "none"};
  const Outcome plain = train(options, 1, 2);
  options.allreduce = &allreduce_named("ring");
  for (const char* sync : {"one_device", "mirrored"}) {
    SCOPED_TRACE(sync);
    options.gradient_sync = sync;
    const Outcome other = train(options, 1, 2);
    EXPECT_EQ(other.losses, plain.losses);
    EXPECT_EQ(other.accuracy, plain.accuracy);
  }
}

TEST(Trainer, FusedStepsTrainAsEagerOnes) {
  // One step an epoch, so that the loss of every step is seen.
  TrainerOptions options{.model = "resnet20", .dataset = "synthetic:64", .gradient_sync = "none"};
  options.batch = 16;
  options.samples_per_epoch = 16;
  options.channels_last = true;
  options.rate.base = 0.003;  // at which roundings do not grow within some steps
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    options.precision = precision;
    options.step = StepKind::eager;
    const Outcome eager = train(options, 1, 6);
    options.step = StepKind::fused;
    const Outcome fused = train(options, 1, 6);
    EXPECT_NE(fused.losses, eager.losses) << "they round elsewhere";
    EXPECT_GT(std::abs(eager.losses.front() - eager.losses.back()), 0.1) << "it trains";
    // float32 as another order of numbers does; bfloat16 rounds at 2^-9 in each of twenty layers.
    const double close = precision == Precision::float32 ? 1e-3 : 0.1;
    for (std::size_t step = 0; step < eager.losses.size(); ++step) {
      EXPECT_NEAR(fused.losses[step], eager.losses[step], close) << "step " << step;
    }
  }
  options.model = "mlp";
  expect_error([&] { train(options, 1, 1); }, {"mlp has no batch normalisation"});
}

/// Seconds an image rather than milliseconds: trained for a step only.
bool is_large(const ModelInfo& model) { return model.shape.pixels() > 10'000; }

TEST(Trainer, ReplicasStayEqualOnlyWhenSynchronised) {
  for (const ModelInfo& model : models()) {
    SCOPED_TRACE(model.name);
    TrainerOptions options{.model = std::string(model.name),
                           .dataset = is_large(model) ? "synthetic:6" : "synthetic:96",
                           .gradient_sync = "mirrored",
                           .allreduce = &allreduce_named("ring"),
                           .batch = is_large(model) ? 1 : 16};
    if (is_large(model)) options.samples_per_epoch = 3;
    const Outcome together = train(options, 3, 1);
    EXPECT_TRUE(together.equal);
    EXPECT_TRUE(std::isfinite(together.losses[0]));
    if (is_large(model)) continue;
    options.gradient_sync = "none";
    EXPECT_FALSE(train(options, 3, 1).equal);
  }
}

TEST(Trainer, EveryModelLearns) {
  for (const ModelInfo& model : models()) {
    if (is_large(model)) continue;
    SCOPED_TRACE(model.name);
    TrainerOptions options{.model = std::string(model.name),
                           .dataset = "synthetic:600",
                           .gradient_sync = "one_device"};
    options.batch = 20;
    const Outcome outcome = train(options, 1, 3);
    EXPECT_NEAR(outcome.losses[0], std::log(10), 1.5);
    EXPECT_LT(outcome.losses[2], 0.5 * outcome.losses[0]);
    EXPECT_GT(outcome.accuracy, 0.5) << "chance is 0.1; the rest is how roundings fall";
  }
}

TEST(Trainer, EqualSeedsGiveEqualRuns) {
  TrainerOptions options{.model = "mnist_cnn", .dataset = "synthetic:96", .gradient_sync = "none"};
  options.batch = 16;
  const auto losses = train(options, 2, 1).losses;
  EXPECT_EQ(train(options, 2, 1).losses, losses);
  options.seed = 2;
  EXPECT_NE(train(options, 2, 1).losses, losses);
}

TEST(Trainer, AccuracyDoesNotDependOnTheNumberOfRanks) {
  // With so small a rate every rank keeps the initial weights; 101 test images do not divide by 3.
  TrainerOptions options{.dataset = "synthetic:606", .allreduce = &allreduce_named("ring")};
  options.rate.base = 1e-30;
  const double one = train(options, 1, 1).accuracy;
  EXPECT_DOUBLE_EQ(std::round(one * 101), one * 101);
  EXPECT_EQ(train(options, 3, 1).accuracy, one);
}

TEST(Trainer, TellsThePhasesOfAStepInOrder) {
  run_ranks(1, [](Communicator& communicator) {
    Trace trace;
    Trainer trainer({.dataset = "synthetic:96", .gradient_sync = "none"}, communicator,
                    communicator, trace);
    const std::vector<Phase> step{Phase::load, Phase::forward, Phase::backward,
                                  Phase::sync, Phase::update,  Phase::other};
    trainer.train_step();
    trace.phases.erase(trace.phases.begin());  // the first step also loads the epoch's order
    EXPECT_EQ(trace.phases, step);
    for (int more = 1; more < 15; ++more) trainer.train_step();
    trace.phases.clear();
    trainer.evaluate();
    EXPECT_EQ(trace.phases, (std::vector<Phase>{Phase::evaluate, Phase::other}));
    EXPECT_EQ(trainer.steps_per_epoch(), 6);
    EXPECT_EQ(trainer.training_images(), 96);
    EXPECT_EQ(trainer.dataset_name(), "synthetic:96");
  });
}

TEST(Trainer, LoaderThreadsChangeNoBit) {
  TrainerOptions options{.model = "mnist_cnn",
                         .dataset = "synthetic:192",
                         .allreduce = &allreduce_named("ring"),
                         .batch = 16};
  const Outcome alone = train(options, 2, 2);
  for (const int threads : {1, 3}) {
    SCOPED_TRACE(threads);
    options.loader_threads = threads;
    const Outcome helped = train(options, 2, 2);
    EXPECT_EQ(helped.losses, alone.losses);
    EXPECT_EQ(helped.accuracy, alone.accuracy);
  }
}

TEST(Trainer, DoesOneRanksShareAlone) {
  run_ranks(1, [](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer(
        {.dataset = "synthetic:96", .gradient_sync = "none", .global_batch = 16, .share_of = 4},
        communicator, communicator, trace);
    EXPECT_EQ(trainer.options().batch, 4);
    EXPECT_EQ(trainer.options().global_batch, 16);
    EXPECT_EQ(trainer.steps_per_epoch(), 6) << "as many as four ranks take for all images";
    EXPECT_EQ(trainer.train_epoch(0).samples, 24);
  });
}

TEST(Trainer, TheSeedRuleCountsWhatItReallyProcesses) {
  // 500 // 3 steps of 3 ranks * 2 images: 16.6 passes over the 60.
  run_ranks(3, [](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer({.model = "mnist_cnn",
                     .dataset = "synthetic:60",
                     .allreduce = &allreduce_named("ring"),
                     .batch = 2,
                     .epoch_rule = EpochRule::seed},
                    communicator, communicator, trace);
    EXPECT_EQ(trainer.steps_per_epoch(), 166);
    const EpochResult result = trainer.train_epoch(0);
    EXPECT_EQ(result.steps, 166);
    EXPECT_EQ(result.samples, 332);
  });
}

TEST(Trainer, DoesOneRanksShareByTheSeedRule) {
  run_ranks(1, [](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer({.model = "mnist_cnn",
                     .dataset = "synthetic:60",
                     .gradient_sync = "none",
                     .batch = 2,
                     .epoch_rule = EpochRule::seed,
                     .share_of = 100},
                    communicator, communicator, trace);
    EXPECT_EQ(trainer.steps_per_epoch(), 5) << "as many as a hundred ranks take";
  });
}

TEST(Trainer, NamesTheFirstLossThatIsNotANumber) {
  run_ranks(2, [](Communicator& communicator) {
    NoTrace trace;
    TrainerOptions options{.dataset = "synthetic:96", .allreduce = &allreduce_named("naive")};
    Trainer good(options, communicator, communicator, trace);
    good.train_epoch(0);
    EXPECT_EQ(good.failure(), "");
    options.optimizer = "sgd";
    options.rate.base = 1e30;
    Trainer trainer(options, communicator, communicator, trace);
    trainer.train_epoch(0);
    const std::string first = trainer.failure();
    EXPECT_EQ(first.find(fmt::format("rank {}: the training loss of step 1", communicator.rank())),
              0U)
        << first;
    trainer.train_epoch(1);
    EXPECT_EQ(trainer.failure(), first);
  });
}

TEST(Trainer, RefusesWhatIsNotThere) {
  run_ranks(1, [](Communicator& communicator) {
    const auto construct = [&](const TrainerOptions& options) {
      NoTrace trace;
      Trainer trainer(options, communicator, communicator, trace);
    };
    expect_error<Unavailable>(
        [&] {
          construct({.dataset = "synthetic:96",
                     .gradient_sync = "none",
                     .device = ComputeDevice::cuda,
                     .device_index = 99});
        },
        {"CUDA"});
    expect_error([&] { construct({.dataset = "synthetic:96", .threads = 0}); }, {"0 threads"});
    expect_error(
        [&] { construct({.dataset = "synthetic:96", .gradient_sync = "none", .batch = 97}); },
        {"96", "97"});
  });
}

}  // namespace
}  // namespace scalebench
