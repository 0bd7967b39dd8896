// SPDX-License-Identifier: Apache-2.0
// Speedups made from known parameters must give those back; what does not determine them is
// refused.
#include "bench/study/fit/laws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace scalebench {
namespace {

std::vector<SpeedupAt> speedups(const Law& law, std::initializer_list<double> ranks) {
  std::vector<SpeedupAt> points;
  for (const double n : ranks) points.push_back({n, law.speedup(n)});
  return points;
}

TEST(Amdahl, ComesBackExactly) {
  for (const double sigma : {0.0, 0.05, 0.5, 1.0, -0.02}) {
    const auto points = speedups({sigma, 0}, {1, 2, 4, 8, 64});
    EXPECT_NEAR(fit_amdahl(points)->sigma, sigma, 1e-12);
    EXPECT_EQ(fit_amdahl(points)->kappa, 0);
    EXPECT_NEAR(rms_residual(*fit_amdahl(points), points), 0, 1e-12);
  }
  // A twentieth is serial: 64 ranks are 15.4 times as fast, and no number of them 20 times.
  EXPECT_NEAR((Law{0.05, 0}).speedup(64), 1 / (0.05 + 0.95 / 64), 1e-12);
  EXPECT_FALSE((Law{0.05, 0}).peak().has_value());
}

TEST(Usl, ComesBackExactly) {
  for (const Law& law : {Law{0.05, 0.001}, Law{0, 0.02}, Law{0.3, 0}, Law{-0.01, 0.0005}}) {
    const auto points = speedups(law, {1, 2, 3, 4, 16});
    const Law fitted = *fit_usl(points);
    EXPECT_NEAR(fitted.sigma, law.sigma, 1e-10);
    EXPECT_NEAR(fitted.kappa, law.kappa, 1e-10);
  }
  // Speedups of N = 10 are the largest: sqrt(0.9 / 0.009).
  const Law law{0.1, 0.009};
  EXPECT_NEAR(*law.peak(), 10, 1e-12);
  EXPECT_GT(law.speedup(10), law.speedup(9));
  EXPECT_GT(law.speedup(10), law.speedup(11));
  EXPECT_FALSE((Law{0.1, -0.001}).peak().has_value());
  EXPECT_EQ((Law{0.1, 1}).peak(), 1) << "the first rank is the best";
  EXPECT_EQ((Law{2.1, 0.3}).peak(), 1);
}

TEST(Laws, RefuseWhatDoesNotDetermineThem) {
  EXPECT_FALSE(fit_amdahl(speedups({0.1, 0}, {1})).has_value());
  EXPECT_TRUE(fit_amdahl(speedups({0.1, 0}, {1, 2})).has_value());
  EXPECT_FALSE(fit_usl(speedups({0.1, 0.01}, {1, 2})).has_value());
  EXPECT_TRUE(fit_usl(speedups({0.1, 0.01}, {1, 2, 4})).has_value());
}

TEST(Laws, SayHowFarTheyAreOff) {
  // 10 % less time than the law says on one of two N.
  const Law law{0.1, 0};
  std::vector<SpeedupAt> points = speedups(law, {1, 2, 4});
  points[2].speedup *= 1.1;
  EXPECT_NEAR(rms_residual(law, points), 0.1 / std::sqrt(2), 1e-12);
}

}  // namespace
}  // namespace scalebench
