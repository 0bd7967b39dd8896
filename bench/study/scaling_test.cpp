// SPDX-License-Identifier: Apache-2.0
#include "bench/study/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TimeWithInterval exactly(double seconds) { return {seconds, kNone, kNone}; }

// ImageNet on one and three p3.2xlarge, as published: 26 614 s and 11 605 s.
TEST(Scaling, ReproducesThePublishedImagenetRun) {
  const Scaling s = scaling_of(exactly(26614), 1, exactly(11605), 1, 3);
  EXPECT_NEAR(s.speedup, 2.2933, 5e-5);
  EXPECT_NEAR(s.efficiency, 0.7644, 5e-5);
  EXPECT_NEAR(s.karp_flatt, 0.1541, 5e-5);
  EXPECT_NEAR(s.lost_seconds, 2733.7, 0.05);
  EXPECT_TRUE(std::isnan(s.speedup_low)) << "no interval in, none out";
}

// TensorFlow's published K80 table: 52.4 images/s on one, 378, 751, 1388, 2744 on 8, 16, 32, 64.
TEST(Scaling, ReproducesThePublishedK80Table) {
  const auto karp_flatt = [](double images_per_s, int devices) {
    return scaling_of(exactly(1 / 52.4), 1, exactly(1 / images_per_s), 1, devices).karp_flatt;
  };
  EXPECT_NEAR(karp_flatt(378, 8), .0156, 5e-5);
  EXPECT_NEAR(karp_flatt(751, 16), .0078, 5e-5);
  EXPECT_NEAR(karp_flatt(1388, 32), .0067, 5e-5);
  EXPECT_NEAR(karp_flatt(2744, 64), .0035, 5e-5);
}

TEST(Scaling, NormalisesBySamplesReallyProcessed) {
  // A rule like 500 // size makes three ranks process 498 of 500: less work is no speedup.
  const Scaling s = scaling_of(exactly(10), 500, exactly(10.0 / 3 * 498 / 500), 498, 3);
  EXPECT_NEAR(s.efficiency, 1.0, 1e-12);
  EXPECT_NEAR(s.lost_seconds, 0.0, 1e-12);
}

TEST(Scaling, IntervalsComeFromTheFarEnds) {
  const Scaling s = scaling_of({10, 9, 11}, 1, {5, 4, 6}, 1, 2);
  EXPECT_DOUBLE_EQ(s.speedup_low, 9.0 / 6);
  EXPECT_DOUBLE_EQ(s.speedup_high, 11.0 / 4);
  EXPECT_DOUBLE_EQ(s.efficiency_high, 11.0 / 8);
}

TEST(Scaling, OneDeviceIsItsOwnIdeal) {
  const Scaling s = scaling_of(exactly(7), 3, exactly(7), 3, 1);
  EXPECT_EQ(s.speedup, 1);
  EXPECT_EQ(s.lost_seconds, 0);
  EXPECT_TRUE(std::isnan(s.karp_flatt));
}

TEST(StatisticalEfficiency, CountsTheEpochsThatMoreRanksNeed) {
  const StatisticalEfficiency slower = statistical_efficiency(8, 10, 0.9);
  EXPECT_DOUBLE_EQ(slower.statistical, 0.8);
  EXPECT_DOUBLE_EQ(slower.to_accuracy, 0.72);
  EXPECT_TRUE(std::isnan(statistical_efficiency(8, kNone, 0.9).statistical)) << "never reached";
  EXPECT_TRUE(std::isnan(statistical_efficiency(kNone, 8, 0.9).to_accuracy));
}

TEST(Scaling, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(scaling_of(exactly(0), 1, exactly(1), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 0, exactly(1), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 1, exactly(kNone), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 1, exactly(1), 1, 0), Error);
}

}  // namespace
}  // namespace scalebench
