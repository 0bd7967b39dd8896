// SPDX-License-Identifier: Apache-2.0
// Two epochs in one go and two epochs with a stop between them end in the same bits.
#include <gtest/gtest.h>

#include <mutex>

#include "collectives/thread_communicator.hpp"
#include "models/expect_error.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

struct Way {
  const char* model;
  const char* gradient_sync;
  int ranks;
};

TrainerOptions options_of(const Way& way) {
  return {.model = way.model,
          .dataset = "synthetic:96",
          .gradient_sync = way.gradient_sync,
          .allreduce = &allreduce_named("ring"),
          .batch = 16,
          .samples_per_epoch = 64};
}

/// Rank 0's training state after epochs [first, 2), begun from `bytes` unless they are empty; what
/// each rank holds enters by its random numbers and by replicas_equal.
std::string trained(const Way& way, const std::string& bytes, int end) {
  std::string state;
  std::mutex mutex;
  run_ranks(way.ranks, [&](Communicator& ranks) {
    NoTrace trace;
    Trainer trainer(options_of(way), ranks, ranks, trace);
    // Only rank 0 has read the file.
    const int first =
        bytes.empty() ? 0 : trainer.restore(ranks.rank() == 0 ? bytes : std::string()).epochs;
    for (int epoch = first; epoch < end; ++epoch) trainer.train_epoch(epoch);
    EXPECT_TRUE(trainer.replicas_equal());
    const std::string mine = trainer.checkpoint(end, 0);
    EXPECT_EQ(mine.empty(), ranks.rank() != 0);
    const std::lock_guard lock(mutex);
    if (ranks.rank() == 0) state = mine;
  });
  return state;
}

class TrainingState : public testing::TestWithParam<Way> {};

TEST_P(TrainingState, GoesOnWithTheSameBits) {
  const std::string one = trained(GetParam(), "", 1);
  const std::string two = trained(GetParam(), "", 2);
  EXPECT_TRUE(trained(GetParam(), one, 2) == two) << "resumed and straight training differ";
  EXPECT_FALSE(one == two);
  // A checkpoint right after a restart is the one that it began from.
  EXPECT_TRUE(trained(GetParam(), one, 1) == one);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, TrainingState,
    testing::Values(Way{"mlp", "none", 1}, Way{"mlp", "one_device", 1}, Way{"mlp", "mirrored", 2},
                    Way{"mnist_cnn", "none", 1}, Way{"mnist_cnn", "one_device", 1},
                    Way{"mnist_cnn", "mirrored", 2}, Way{"resnet20", "none", 1},
                    Way{"resnet20", "one_device", 1}, Way{"resnet20", "mirrored", 2}),
    [](const testing::TestParamInfo<Way>& way) {
      return std::string(way.param.model) + "_" + way.param.gradient_sync;
    });

TEST(TrainingStateOfAnother, IsRefusedAndSaysWhatDiffers) {
  const Way way{"mlp", "mirrored", 2};
  const std::string bytes = trained(way, "", 1);
  const auto resume = [&](TrainerOptions options, int ranks) {
    run_ranks(ranks, [&](Communicator& communicator) {
      NoTrace trace;
      Trainer trainer(options, communicator, communicator, trace);
      trainer.restore(bytes);
    });
  };
  TrainerOptions options = options_of(way);
  options.seed = 7;
  options.optimizer = "sgd";
  expect_error(
      [&] { resume(options, 2); },
      {"another training", "optimizer is adam there and sgd here", "seed is 1 there and 7 here"});
  expect_error([&] { resume(options_of(way), 1); }, {"ranks is 2 there and 1 here"});
  expect_error([&] { resume(options_of({"mlp", "none", 2}), 2); }, {"none", "2 ranks"});
}

}  // namespace
}  // namespace scalebench
