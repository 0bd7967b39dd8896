// SPDX-License-Identifier: Apache-2.0
// What is written is what is read, and a file that is not whole is never taken for one that is.
#include "models/checkpoint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.progress = {12, 3456, 78.9};
  checkpoint.loss_scale = {1024, 17, 3};
  checkpoint.training = {{"model", "mlp"}, {"seed", "1"}};
  checkpoint.tensors = {{"parameter.a", "uint8", {2, 3}, std::string("\0\1\2\3\4\5", 6)},
                        {"random.0.0", "uint8", {0}, ""}};
  return checkpoint;
}

TEST(Checkpoint, ReadsWhatItWrote) {
  const Checkpoint wrote = example();
  const Checkpoint read = checkpoint_from(bytes_of(wrote));
  EXPECT_EQ(read.progress.epochs, 12);
  EXPECT_EQ(read.progress.steps, 3456);
  EXPECT_EQ(read.progress.seconds, 78.9);
  EXPECT_EQ(read.loss_scale, wrote.loss_scale);
  EXPECT_EQ(read.training, wrote.training);
  ASSERT_EQ(read.tensors.size(), 2U);
  EXPECT_EQ(read.tensors[0].name, "parameter.a");
  EXPECT_EQ(read.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read.tensors[0].bytes, wrote.tensors[0].bytes);
  EXPECT_EQ(read.tensors[1].bytes, "");
}

TEST(Checkpoint, RefusesEveryTruncation) {
  const std::string whole = bytes_of(example());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(checkpoint_from(whole.substr(0, length)), UsageError) << length << " bytes";
  }
  EXPECT_THROW(checkpoint_from(whole + '\0'), UsageError);
}

TEST(Checkpoint, RefusesEveryFlippedBit) {
  const std::string whole = bytes_of(example());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(checkpoint_from(damaged), UsageError) << "bit " << bit;
  }
}

TEST(Checkpoint, SaysWhyItIsRefused) {
  const std::string whole = bytes_of(example());
  expect_error([&] { checkpoint_from("SCBCKPT1" + whole.substr(8)); }, {"SCBCKPT2"});
  expect_error([&] { checkpoint_from(whole.substr(0, 20)); }, {"truncated", "20 bytes"});
  expect_error([&] { checkpoint_from(whole.substr(0, whole.size() - 1)); }, {"checksum"});
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_error([&] { checkpoint_from(checkpoint_file("{\"a\":" + deep + ",\"b\":1}", "")); },
               {"its header: ", "nested"});
  const std::string header(checkpoint_parts(whole).header);
  expect_error([&] { checkpoint_from(checkpoint_file("{\"steps\":7," + header.substr(1), "")); },
               {"its header: ", "key 'steps' stands twice"});
}

TEST(Checkpoint, NamesWhatDiffers) {
  const Checkpoint checkpoint = example();
  EXPECT_EQ(difference(checkpoint, {{"seed", "1"}, {"model", "mlp"}}), "");
  EXPECT_EQ(difference(checkpoint, {{"seed", "2"}, {"model", "mlp"}}),
            "seed is 1 there and 2 here");
  EXPECT_EQ(difference(checkpoint, {{"model", "mlp"}, {"wire", "half"}}),
            "seed is 1 there and not given here, wire is not given there and half here");
}

}  // namespace

// Two epochs in one go and two epochs with a stop between them end in the same bits.

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
std::string trained(const TrainerOptions& options, int size, const std::string& bytes, int end) {
  std::string state;
  std::mutex mutex;
  run_ranks(size, [&](Communicator& ranks) {
    NoTrace trace;
    Trainer trainer(options, ranks, ranks, trace);
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

std::string trained(const Way& way, const std::string& bytes, int end) {
  return trained(options_of(way), way.ranks, bytes, end);
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
                    Way{"resnet20", "one_device", 1}, Way{"resnet20", "mirrored", 2},
                    Way{"mlp", "zero1", 3}, Way{"mnist_cnn", "central_storage", 2},
                    Way{"mnist_cnn", "ps_sync", 3}, Way{"mnist_cnn", "balanced_shards", 2},
                    Way{"mlp", "model_split", 3}),
    [](const testing::TestParamInfo<Way>& way) {
      return std::string(way.param.model) + "_" + way.param.gradient_sync;
    });

/// Any training of two ranks whose steps do not hang on which rank is faster.
TrainerOptions any_training(std::mt19937& random) {
  const auto one_of = [&](const auto& values) { return values[random() % std::size(values)]; };
  const auto by_chance = [&] { return random() % 2 == 0; };
  TrainerOptions options = options_of(
      {one_of(std::array{"mlp", "mnist_cnn"}),
       one_of(std::array{"mirrored", "multi_worker", "bucketed_overlap", "zero1", "naive"}), 2});
  options.optimizer = one_of(std::array{"sgd", "adam"});
  options.precision = one_of(std::array{Precision::float32, Precision::bfloat16});
  options.channels_last = by_chance();
  options.accumulate = by_chance() ? 2 : 1;
  options.rate = one_of(
      std::array{RateRule{.base = 1e-3},
                 RateRule{.base = 1e-3, .scaling = RateScaling::linear, .warmup_epochs = 1.5},
                 RateRule{.base = 1e-3, .schedule = RateSchedule::resnet}});
  options.seed = random() % 1000;
  options.sync.bucket_bytes = by_chance() ? 4096 : 1 << 20;
  if (options.gradient_sync == "mirrored") {
    options.sync.wire = one_of(std::array{DType::float32, DType::bfloat16});
  }
  options.loader_threads = by_chance() ? 1 : 0;
  return options;
}

TEST(TrainingState, OfAnySettingsGoesOnWithTheSameBits) {
  std::mt19937 random(20);
  for (int i = 0; i < 16; ++i) {
    const TrainerOptions options = any_training(random);
    SCOPED_TRACE(fmt::format("{}: {} {} {} {} seed {}", i, options.model, options.gradient_sync,
                             options.optimizer, dtype_label(options.precision), options.seed));
    const std::string one = trained(options, 2, "", 1);
    EXPECT_TRUE(trained(options, 2, one, 2) == trained(options, 2, "", 2));
  }
}

TEST(TrainingState, OfAShapeThatItsBytesDoNotFitIsRefused) {
  const TrainerOptions options = options_of({"mnist_cnn", "none", 1});
  const Checkpoint whole = checkpoint_from(trained(options, 1, "", 1));
  constexpr std::int64_t kHuge = std::int64_t{1} << 32U;
  const std::vector<std::vector<std::int64_t>> shapes{
      {-1}, {kHuge}, {kHuge, kHuge}, {kHuge, kHuge, 0}, {0}};
  for (const char* const of : {"parameter.", "optimizer.", "random."}) {
    const auto place = std::ranges::find_if(
        whole.tensors, [&](const StoredTensor& one) { return one.name.starts_with(of); });
    ASSERT_NE(place, whole.tensors.end()) << of;
    for (const auto& shape : shapes) {
      Checkpoint other = whole;
      other.tensors[static_cast<std::size_t>(place - whole.tensors.begin())].shape = shape;
      EXPECT_THROW(trained(options, 1, bytes_of(other), 2), UsageError)
          << of << testing::PrintToString(shape);
    }
  }
}

TEST(TrainingStateOfAnother, IsRefusedByTheNameOfEachSetting) {
  const TrainerOptions options = options_of({"mnist_cnn", "none", 1});
  const std::string bytes = trained(options, 1, "", 1);
  const auto expect_refused = [&](const std::string& why, const auto& change) {
    TrainerOptions other = options;
    change(other);
    expect_error([&] { trained(other, 1, bytes, 2); }, {"another training", why});
  };
  expect_refused("precision is float32 there and bfloat16 here",
                 [](TrainerOptions& other) { other.precision = Precision::bfloat16; });
  expect_refused("memory format is contiguous there and channels_last here",
                 [](TrainerOptions& other) { other.channels_last = true; });
  expect_refused("learning-rate schedule is constant there and resnet here",
                 [](TrainerOptions& other) { other.rate.schedule = RateSchedule::resnet; });
  expect_refused("epoch rule is whole there and seed here", [](TrainerOptions& other) {
    other.samples_per_epoch = 0;
    other.epoch_rule = EpochRule::seed;
  });
  expect_refused("accumulated passes is 1 there and 2 here",
                 [](TrainerOptions& other) { other.accumulate = 2; });
  expect_refused("bucket bytes is", [](TrainerOptions& other) { other.sync.bucket_bytes = 4096; });
}

TEST(TrainingStateOfAnother, IsRefusedForAnotherDataSetOfTheSameName) {
  const TemporaryFolder root;
  const auto set = [&](const char* parent, std::uint32_t images) {
    const std::filesystem::path folder = root.path() / parent / "faces";
    std::filesystem::create_directories(folder);
    for (const std::string split : {"train", "t10k"}) {
      write_plain(folder / (split + "-images-idx3-ubyte"),
                  idx_bytes({images, 1, 1}, Bytes(images, 3)));
      write_plain(folder / (split + "-labels-idx1-ubyte"), idx_bytes({images}, Bytes(images, 1)));
    }
    return folder.string();
  };
  TrainerOptions options = options_of({"mlp", "none", 1});
  options.dataset = set("one", 96);
  const std::string bytes = trained(options, 1, "", 1);
  EXPECT_FALSE(trained(options, 1, bytes, 2).empty());
  options.dataset = set("other", 100);
  expect_error([&] { trained(options, 1, bytes, 2); },
               {"another training", "data is faces:96:", "there and faces:100:"});
}

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
  for (const char* const apart : {"none", "barrier_only"}) {
    expect_error([&] { resume(options_of({"mlp", apart, 2}), 2); }, {apart, "2 ranks"});
  }
}

}  // namespace

}  // namespace scalebench
