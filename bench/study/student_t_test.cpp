// SPDX-License-Identifier: Apache-2.0
// Against printed tables and closed forms: df 1 is Cauchy, df 2 algebraic, many are normal.
#include "bench/study/student_t.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace scalebench {
namespace {

TEST(StudentT, HasTheQuantilesOfPrintedTables) {
  EXPECT_NEAR(student_t_quantile(0.05, 19), 1.729133, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.025, 7), 2.364624, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.005, 10), 3.169273, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.0005, 5), 6.868827, 1e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 7), -2.364624, 1e-6);
}

TEST(StudentT, IsClosedFormForOneAndTwoDegrees) {
  for (const double t : {-30.0, -1.0, 0.0, 0.3, 2.0, 1e3, 1e6}) {
    const double cauchy = std::atan2(1.0, t) / std::numbers::pi;
    EXPECT_NEAR(student_t_tail(t, 1), cauchy, 1e-12 + 1e-10 * cauchy) << t;
    const double root = std::sqrt(2 + t * t);
    const double two = t > 0 ? 1 / (root * (root + t)) : 0.5 - t / (2 * root);
    EXPECT_NEAR(student_t_tail(t, 2), two, 1e-12 + 1e-10 * two) << t;
  }
}

TEST(StudentT, IsNormalForManyDegrees) {
  for (const double t : {0.5, 2.0, 4.0}) {
    EXPECT_NEAR(student_t_tail(t, 1e7), std::erfc(t / std::sqrt(2.0)) / 2, 1e-7) << t;
  }
}

TEST(StudentT, TailAndQuantileAreInverse) {
  for (const double df : {3.0, 7.0, 19.0, 38.0}) {
    for (const double p : {0.3, 1e-2, 2.5e-4, 1e-6, 1e-12}) {
      EXPECT_NEAR(student_t_tail(student_t_quantile(p, df), df) / p, 1, 1e-8) << df << " " << p;
    }
  }
  EXPECT_EQ(student_t_tail(INFINITY, 5), 0);
  EXPECT_TRUE(std::isnan(student_t_tail(NAN, 5)));
}

}  // namespace
}  // namespace scalebench
