// SPDX-License-Identifier: Apache-2.0
#include "models/data/batch_stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <numeric>

#include "models/data/image_source.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

constexpr ImageShape kShape{1, 28, 28, 10};

ImageStore store(std::int64_t count) {
  return {synthetic_dataset(count, Split::train, kShape, 1), kShape, torch::kCPU};
}

std::vector<std::int64_t> backwards(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  return order;
}

TEST(BatchStream, GivesTheSameBatchesForAnyNumberOfThreads) {
  const ImageStore images = store(100);
  const auto order = backwards(100);
  for (const int threads : {0, 1, 2, 4}) {
    SCOPED_TRACE(threads);
    BatchStream batches(images, order, torch::kCPU, {.batch = 16, .loader_threads = threads});
    for (std::int64_t first = 0; first < 100; first += 16) {
      const Batch batch = batches.next();
      const std::int64_t length = std::min<std::int64_t>(16, 100 - first);
      ASSERT_EQ(batch.images.sizes(), (at::IntArrayRef{length, 1, 28, 28}));
      const Batch expected = images.at(
          torch::arange(99 - first, 99 - first - length, -1, torch::kInt64), 0, std::stop_token());
      EXPECT_TRUE(batch.images.equal(expected.images));
      EXPECT_TRUE(batch.labels.equal(expected.labels));
    }
    expect_error<Error>([&] { batches.next(); }, {"no more"});
  }
}

TEST(BatchStream, GivesPlacesToWhoMakesTheBatchItself) {
  const ImageStore images = store(50);
  const auto order = backwards(50);
  BatchStreamOptions options{.batch = 16, .channels_last = true};
  BatchStream made(images, order, torch::kCPU, options);
  options.by_index = true;
  BatchStream places(images, order, torch::kCPU, options);
  for (int batch = 0; batch < 4; ++batch) {
    const Batch place = places.next(), expected = made.next();
    EXPECT_FALSE(place.images.defined());
    const Batch own = batch_of(images, place.indices, 0, options.channels_last);
    EXPECT_TRUE(own.images.equal(expected.images));
    EXPECT_EQ(own.images.strides(), expected.images.strides());
    EXPECT_TRUE(own.labels.equal(expected.labels));
  }
  expect_error<Error>([&] { places.next(); }, {"no more"});
}

TEST(BatchStream, MakesBatchesThatThreadsOrDelaysAreFor) {
  const ImageStore images = store(50);
  for (const BatchStreamOptions& options :
       {BatchStreamOptions{.batch = 16, .loader_threads = 1, .by_index = true},
        BatchStreamOptions{.batch = 16, .throttle_seconds = 1e-3, .by_index = true}}) {
    EXPECT_TRUE(BatchStream(images, backwards(50), torch::kCPU, options).next().images.defined());
  }
}

/// Fails at one image.
class Broken final : public ImageSource {
 public:
  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  std::int64_t count() const override { return 100; }
  torch::Device device() const override { return torch::kCPU; }
  Batch at(const torch::Tensor& indices, int, const std::stop_token&) const override {
    ++asked;
    if (indices.eq(50).any().item<bool>()) fail<UsageError>("image 50 is broken");
    return {indices, indices};
  }
  mutable std::atomic<int> asked = 0;

 private:
  std::string name_ = "broken";
};

TEST(BatchStream, ThrowsInTheStepThatWouldHaveTheBatch) {
  const Broken images;
  for (const int threads : {0, 1, 3}) {
    SCOPED_TRACE(threads);
    BatchStream batches(images, backwards(100), torch::kCPU,
                        {.batch = 10, .loader_threads = threads});
    for (int step = 0; step < 4; ++step) batches.next();
    expect_error([&] { batches.next(); }, {"image 50 is broken"});
  }
}

TEST(BatchStream, EndsWhileItsThreadsSleep) {
  // An hour a batch: only a stop that interrupts the sleep lets this test end.
  const Broken images;
  const BatchStream batches(images, backwards(100), torch::kCPU,
                            {.batch = 10, .loader_threads = 2, .throttle_seconds = 3600});
}

}  // namespace

namespace {

TEST(Prefetcher, HandsOutAllInOrder) {
  for (const int threads : {0, 1, 2, 5}) {
    SCOPED_TRACE(threads);
    std::atomic<int> made = 0;
    Prefetcher<std::int64_t> items(threads, 300, [&](std::int64_t number, const auto&) {
      ++made;
      if (number % 7 == 0) std::this_thread::yield();
      return 10 * number;
    });
    for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(items.next(), 10 * i);
    EXPECT_EQ(made, 300);
    expect_error<Error>([&] { items.next(); }, {"300 of 300"});
  }
}

TEST(Prefetcher, WorksAheadButNotTooFar) {
  std::atomic<std::int64_t> last = -1;
  std::latch four(4);
  Prefetcher<std::unique_ptr<int>> items(2, 100, [&](std::int64_t number, const auto&) {
    for (std::int64_t most = last; most < number && !last.compare_exchange_weak(most, number);) {
    }
    if (number < 4) four.count_down();
    return std::make_unique<int>(static_cast<int>(number));
  });
  four.wait();  // 2 * 2 items are made although nobody asks
  EXPECT_EQ(last, 3);
  EXPECT_EQ(*items.next(), 0);
}

TEST(Prefetcher, ThrowsWhereTheItemWouldBe) {
  for (const int threads : {0, 1, 3}) {
    SCOPED_TRACE(threads);
    Prefetcher<int> items(threads, 20, [](std::int64_t number, const auto&) {
      if (number == 5) fail<UsageError>("file five");
      return static_cast<int>(number);
    });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(items.next(), i);
    expect_error([&] { items.next(); }, {"file five"});
    EXPECT_EQ(items.next(), 6);
  }
}

TEST(Prefetcher, EndsInTheMiddle) {
  // Every item waits until it is no longer wanted: without the stop this would never end.
  std::latch begun(3);
  {
    const Prefetcher<int> items(3, 1000, [&](std::int64_t number, const std::stop_token& stop) {
      if (number < 3) begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      return 0;
    });
    begun.wait();
  }
  // And with a full queue, where all threads wait for room.
  std::latch full(2);
  const Prefetcher<int> waiting(1, 1000, [&](std::int64_t, const auto&) {
    full.count_down();
    return 0;
  });
  full.wait();
}

}  // namespace

}  // namespace scalebench
