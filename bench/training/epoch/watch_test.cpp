// SPDX-License-Identifier: Apache-2.0
// Threads as ranks, whose steps take longer than the watchdog's limit.
#include "bench/training/epoch/watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bench/program/watchdog/watchdog.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

TEST(StepMarks, AStepOfUnknownLengthIsNoHangAndTellsThatOfTheNext) {
  constexpr double kLimit = 3;  // seconds: a thread may long wait for its turn on a busy core
  std::atomic<int> ends = 0;
  run_ranks(2, [&](Communicator& host) {
    Watchdog watchdog(host, {.limit_seconds = kLimit,
                             .lives = [] { return true; },
                             .end = [&] { ++ends; },
                             .say = [](const std::string&) {}});
    StepMarks marks(watchdog, 0);
    marks.begin("epoch 0");
    for (int step = 0; step < 2; ++step) {
      marks.step();
      std::this_thread::sleep_for(std::chrono::duration<double>(2 * kLimit));
    }
    marks.end();
    host.barrier();
  });
  EXPECT_EQ(ends, 0);
}

}  // namespace
}  // namespace scalebench
