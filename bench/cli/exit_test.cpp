// SPDX-License-Identifier: Apache-2.0
// Each in a process of its own, as what was received is remembered to its end.
#include "bench/cli/exit.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace scalebench {
namespace {

/// What the process ends with after these signals.
[[noreturn]] void receive(std::initializer_list<int> signals) {
  const Interruption interruption;
  for (const int signal : signals) std::raise(signal);
  std::_Exit(interruption.stop() ? static_cast<int>(interruption.exit_code()) : 0);
}

class InterruptionDeathTest : public testing::Test {
 protected:
  // Libraries may have started threads by now.
  InterruptionDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(InterruptionDeathTest, TheFirstSignalAsksAndIsTold) {
  EXPECT_EXIT(receive({}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(receive({SIGINT}), testing::ExitedWithCode(130), "");
  EXPECT_EXIT(receive({SIGTERM}), testing::ExitedWithCode(143), "");
}

TEST_F(InterruptionDeathTest, ASecondOneOfEitherKindEndsAtOnce) {
  EXPECT_EXIT(receive({SIGINT, SIGINT}), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(receive({SIGINT, SIGTERM}), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(receive({SIGTERM, SIGINT}), testing::KilledBySignal(SIGINT), "");
}

TEST_F(InterruptionDeathTest, WhatWasAskedBeforeIsNotAskedAnew) {
  const auto twice = [] {
    const Interruption first;
    std::raise(SIGINT);
    receive({SIGTERM});
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace scalebench
