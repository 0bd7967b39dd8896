// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "bench/program/watchdog/progress.hpp"

namespace scalebench {
namespace {

TEST(StepMarks, AStepOfUnknownLengthIsWorkAndTellsThatOfTheNext) {
  ProgressMarks of_rank;
  const auto progress = [&] { return of_rank.read(); };
  StepMarks marks(of_rank, 0);
  marks.begin("epoch 0");
  marks.step();
  EXPECT_EQ(progress().stage, Stage::work);
  constexpr std::chrono::milliseconds kStep{600};
  std::this_thread::sleep_for(kStep);
  marks.step();
  EXPECT_EQ(progress().stage, Stage::cell);
  EXPECT_GE(progress().limit_seconds, 60) << "a hundred times the first";
  EXPECT_EQ(progress().moves % 2, 1U) << "inside the step";
  marks.end();
  EXPECT_EQ(progress().stage, Stage::between);
}

}  // namespace
}  // namespace scalebench
