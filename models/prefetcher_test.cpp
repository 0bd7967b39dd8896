// SPDX-License-Identifier: Apache-2.0
#include "models/prefetcher.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

#include "models/expect_error.hpp"

namespace scalebench {
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
    last = std::max(last.load(), number);
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
