// SPDX-License-Identifier: Apache-2.0
// What is written is what is read, and a file that is not whole is never taken for one that is.
#include "models/checkpoint.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"

namespace scalebench {
namespace {

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.progress = {12, 3456, 78.9};
  checkpoint.loss_scale = 1024;
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
  EXPECT_EQ(read.loss_scale, 1024);
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
  expect_error([&] { checkpoint_from("SCBCKPT2" + whole.substr(8)); }, {"SCBCKPT1"});
  expect_error([&] { checkpoint_from(whole.substr(0, 20)); }, {"truncated", "20 bytes"});
  expect_error([&] { checkpoint_from(whole.substr(0, whole.size() - 1)); }, {"checksum"});
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
}  // namespace scalebench
