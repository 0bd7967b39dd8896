// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/data/batch_stream.hpp"
#include "models/data/image_source.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench::jpeg_folder_test {
namespace {

constexpr ImageShape kShape{3, 16, 16, 10};

/// One row of four pixels of 0, 10, 20, 30, as a model of 1 x `width` sees `crop` of it: the red,
/// as 0 to 255 again.
std::vector<double> reds_of(const Crop& crop, int width) {
  const Picture picture{1, 4, {0, 0, 255, 10, 0, 255, 20, 0, 255, 30, 0, 255}};
  std::vector<float> out(static_cast<std::size_t>(3) * static_cast<std::size_t>(width));
  write_resized(picture, crop, {3, 1, width, 10}, out);
  EXPECT_NEAR(out.back(), 1, 1e-5) << "blue comes last";
  std::vector<double> reds(out.begin(), out.begin() + width);
  for (double& red : reds) red = std::round((red + 1) * 127.5 * 100) / 100;
  return reds;
}

TEST(WriteResized, TakesTheCropAloneAndMirrorsIt) {
  EXPECT_THAT(reds_of({0, 1, 1, 2}, 2), testing::ElementsAre(10, 20));
  EXPECT_THAT(reds_of({0, 1.4, 1, 2.4, true}, 2), testing::ElementsAre(20, 10));
  EXPECT_THAT(reds_of({0, 1, 1, 2}, 1), testing::ElementsAre(15)) << "nothing outside of it";
}

TEST(WriteResized, CountsEveryPixelWhenThereAreFewer) {
  // Triangle weights 3, 3, 1 of 7, as Pillow's.
  EXPECT_THAT(reds_of({0, 0, 1, 4}, 2), testing::ElementsAre(7.14, 22.86));
}

class JpegFolderTest : public testing::Test {
 protected:
  JpegFolderTest() { write_jpeg_folder(root.path()); }

  JpegImages open(Split split) const { return {root.path(), split, kShape, 1}; }
  std::int64_t read(const JpegImages& folder, std::int64_t index, int epoch = 0) {
    return folder.read(index, epoch, decoder, pixels);
  }
  /// Leaves so much of blue/`name` that its header is whole.
  void truncate(const char* name) const {
    const auto file = root.path() / "train/blue" / name;
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 40);
  }

  TemporaryFolder root;
  JpegDecoder decoder;
  std::vector<float> pixels = std::vector<float>(kShape.pixels());
};

TEST_F(JpegFolderTest, GivesTheClassAndItsColour) {
  for (const Split split : {Split::train, Split::test}) {
    const JpegImages folder = open(split);
    EXPECT_EQ(folder.count(), split == Split::train ? 12 : 4);
    for (std::int64_t i = 0; i < folder.count(); ++i) {
      const std::int64_t label = read(folder, i);
      EXPECT_EQ(label, 2 * i < folder.count() ? 0 : 1) << "blue, then red";
      const float red = pixels[100];
      const float blue = pixels[2 * 256 + 100];
      EXPECT_NEAR(label == 0 ? blue : red, 208 / 127.5 - 1, 0.08);
      EXPECT_NEAR(label == 0 ? red : blue, 38 / 127.5 - 1, 0.08);
    }
  }
}

TEST_F(JpegFolderTest, CropsByEpochWhileTrainingOnly) {
  for (const Split split : {Split::train, Split::test}) {
    const JpegImages folder = open(split);
    read(folder, 1, 0);
    const auto first = pixels;
    read(folder, 1, 1);
    EXPECT_EQ(pixels == first, split == Split::test);
    read(folder, 1, 0);
    EXPECT_EQ(pixels, first);
  }
}

TEST_F(JpegFolderTest, StopsAtABrokenFile) {
  truncate("2.jpg");
  write_plain(root.path() / "train/red/0.jpg", {'G', 'I', 'F', '8'});
  write_plain(root.path() / "train/red/1.jpg",
              with_size_in_header(rgb_jpeg(16, 16, 200, 0, 0), 16384, 16384));
  std::filesystem::create_symlink("/nowhere", root.path() / "train/red/dangling.jpg");
  const JpegImages folder = open(Split::train);
  read(folder, 1);
  expect_error([&] { read(folder, 2); }, {"train/blue/2.jpg", "damaged JPEG"});
  expect_error([&] { read(folder, 6); }, {"train/red/0.jpg", "not a JPEG"});
  expect_error([&] { read(folder, 7); },
               {"train/red/1.jpg", "16384 x 16384", "expected at most 89478485"});
  expect_error([&] { read(folder, 12); }, {"train/red/dangling.jpg", "cannot open"});
}

TEST_F(JpegFolderTest, RefusesAModelOfOneChannel) {
  expect_error([&] { JpegImages(root.path(), Split::train, {}, 1); },
               {root.path().string(), "3 channels", "found 1"});
}

}  // namespace

namespace {

class JpegImagesTest : public testing::Test {
 protected:
  JpegImagesTest() { write_jpeg_folder(root.path()); }

  TrainerOptions options() const {
    TrainerOptions all{
        .model = "resnet20", .dataset = root.path().string(), .gradient_sync = "none", .batch = 3};
    return all;
  }

  TemporaryFolder root;
};

/// What one rank alone sees when it trains.
struct Trained {
  double loss = 0;
  double accuracy = 0;
};

Trained train(const TrainerOptions& options) {
  Trained run;
  run_ranks(1, [&](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer(options, communicator, communicator, trace);
    run.loss = trainer.train_epoch(0).loss;
    run.accuracy = trainer.evaluate().accuracy;
  });
  return run;
}

TEST_F(JpegImagesTest, BatchesDoNotDependOnTheThreads) {
  const JpegImages images(root.path(), Split::train, {3, 32, 32, 10}, 1);
  const std::vector<std::int64_t> order{7, 3, 11, 0, 5, 2, 9};
  BatchStream alone(images, order, torch::kCPU, {.batch = 2, .epoch = 4});
  BatchStream helped(images, order, torch::kCPU, {.batch = 2, .epoch = 4, .loader_threads = 3});
  BatchStream later(images, order, torch::kCPU, {.batch = 2, .epoch = 5});
  for (int step = 0; step < 4; ++step) {
    const Batch batch = alone.next();
    const Batch other = helped.next();
    EXPECT_TRUE(batch.images.equal(other.images));
    EXPECT_TRUE(batch.labels.equal(other.labels));
    EXPECT_FALSE(batch.images.equal(later.next().images)) << "cropped otherwise";
  }
}

TEST_F(JpegImagesTest, TrainsTheSameWithAnyNumberOfThreads) {
  TrainerOptions with = options();
  const Trained alone = train(with);
  with.loader_threads = 2;
  const Trained helped = train(with);
  EXPECT_EQ(helped.loss, alone.loss);
  EXPECT_EQ(helped.accuracy, alone.accuracy);
}

TEST_F(JpegImagesTest, NamesAFileThatCannotBeDecoded) {
  write_plain(root.path() / "train/red/1.jpg", {1, 2, 3});
  write_plain(root.path() / "val/red/1.jpg", {1, 2, 3});
  TrainerOptions with = options();
  for (const int threads : {0, 2}) {
    SCOPED_TRACE(threads);
    with.loader_threads = threads;
    expect_error([&] { train(with); }, {"train/red/1.jpg", "not a JPEG"});
  }
}

}  // namespace

}  // namespace scalebench::jpeg_folder_test
