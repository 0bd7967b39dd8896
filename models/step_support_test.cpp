// SPDX-License-Identifier: Apache-2.0
#include "models/step_support.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

constexpr StepDevice kCpu{}, kVolta{.cuda = true}, kAmpere{.cuda = true, .tf32 = true};

TEST(StepSupport, GraphsAreCudas) {
  EXPECT_EQ(why_no_step(Precision::float32, true, kCpu), "graphs are CUDA's, not for device cpu");
  EXPECT_EQ(why_no_step(Precision::float32, true, kVolta), "");
  EXPECT_EQ(why_no_step(Precision::bf16, true, kAmpere), "");
  EXPECT_NE(why_no_step(Precision::fp16, true, kAmpere), "") << "its loss scale changes";
}

TEST(StepSupport, Tf32IsOfCardsSinceAmpere) {
  EXPECT_NE(why_no_step(Precision::tf32, false, kCpu), "");
  EXPECT_NE(why_no_step(Precision::tf32, false, kVolta), "");
  EXPECT_EQ(why_no_step(Precision::tf32, true, kAmpere), "");
}

TEST(StepSupport, ThisLibTorchIsAskedOnTheDevice) {
  TrainerOptions options;
  EXPECT_EQ(why_no_step(options), "");
  options.precision = Precision::bf16;
  EXPECT_EQ(why_no_step(options), "");
  options.precision = Precision::tf32;
  EXPECT_EQ(why_no_step(options), "TF32 is a format of CUDA's tensor cores, not for device cpu");
}

}  // namespace
}  // namespace scalebench
