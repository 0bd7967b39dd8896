// SPDX-License-Identifier: Apache-2.0
#include "models/jpeg_images.hpp"

#include <gtest/gtest.h>

#include "collectives/thread_communicator.hpp"
#include "models/batch_stream.hpp"
#include "models/expect_error.hpp"
#include "models/test_jpegs.hpp"
#include "models/trainer.hpp"

namespace scalebench {
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
  InputReport report;
};

Trained train(const TrainerOptions& options) {
  Trained run;
  run_ranks(1, [&](Communicator& communicator) {
    NoTrace trace;
    Trainer trainer(options, communicator, communicator, trace);
    EXPECT_TRUE(trainer.reads_files());
    run.loss = trainer.train_epoch(0).loss;
    run.accuracy = trainer.evaluate().accuracy;
    run.report = trainer.take_input_report();
  });
  return run;
}

TEST_F(JpegImagesTest, BatchesDoNotDependOnTheThreads) {
  const JpegImages images(root.path(), Split::train, {3, 32, 32, 10}, 1, BadImages::stop);
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
  EXPECT_EQ(alone.report.replaced_images, 0);
}

TEST_F(JpegImagesTest, CountsReplacedImagesAndNamesFiles) {
  write_plain(root.path() / "train/red/1.jpg", {1, 2, 3});
  write_plain(root.path() / "val/red/1.jpg", {1, 2, 3});
  TrainerOptions with = options();
  for (const int threads : {0, 2}) {
    SCOPED_TRACE(threads);
    with.loader_threads = threads;
    with.bad_images = BadImages::stop;
    expect_error([&] { train(with); }, {"train/red/1.jpg", "not a JPEG"});
    with.bad_images = BadImages::skip;
    const Trained run = train(with);
    EXPECT_EQ(run.report.replaced_images, 2);
    ASSERT_EQ(run.report.warnings.size(), 2U);
    EXPECT_NE(run.report.warnings[0].find("train/red/1.jpg"), std::string::npos);
    EXPECT_NE(run.report.warnings[1].find("val/red/1.jpg"), std::string::npos);
  }
}

TEST_F(JpegImagesTest, SaysWhatThePageCacheHolds) {
  for (const int ranks : {1, 3}) {
    run_ranks(ranks, [&](Communicator& communicator) {
      TrainerOptions with = options();
      with.page_cache = PageCache::warm;
      NoTrace trace;
      Trainer trainer(with, communicator, communicator, trace);
      const auto files = trainer.prepare_input();
      ASSERT_TRUE(files.has_value());
      // Twelve files smaller than a page, each counted by one rank; the test owns them.
      EXPECT_EQ(files->pages, 12);
      EXPECT_EQ(files->resident, 12);
      EXPECT_EQ(files->unknown_files, 0);
    });
  }
}

TEST_F(JpegImagesTest, AFileThatCannotBeOpenedHasNoPages) {
  const auto file = root.path() / "train/red/0.jpg";
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/nowhere", file);
  for (const PageCache wanted : {PageCache::as_is, PageCache::cold, PageCache::warm}) {
    run_ranks(1, [&](Communicator& communicator) {
      TrainerOptions with = options();
      with.page_cache = wanted;
      NoTrace trace;
      Trainer trainer(with, communicator, communicator, trace);
      const auto files = trainer.prepare_input();
      ASSERT_TRUE(files.has_value());
      EXPECT_EQ(files->pages, 11);
    });
  }
}

TEST_F(JpegImagesTest, OnlyFilesHaveAPageCache) {
  run_ranks(1, [&](Communicator& communicator) {
    NoTrace trace;
    TrainerOptions with{.dataset = "synthetic:96", .gradient_sync = "none"};
    EXPECT_FALSE(Trainer(with, communicator, communicator, trace).prepare_input().has_value());
    with.page_cache = PageCache::cold;
    expect_error([&] { Trainer(with, communicator, communicator, trace); },
                 {"page cache cold", "synthetic:96", "in memory"});
  });
}

}  // namespace
}  // namespace scalebench
