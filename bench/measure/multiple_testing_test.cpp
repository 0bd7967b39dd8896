// SPDX-License-Identifier: Apache-2.0
// Numbers worked out by hand, the example of a paper, and the limit of each test against trying it
// out.
#include "bench/measure/multiple_testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace scalebench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Holm, AdjustsStepByStep) {
  EXPECT_THAT(holm(std::vector<double>{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-15), DoubleNear(0.06, 1e-15), DoubleNear(0.06, 1e-15),
                          DoubleNear(0.02, 1e-15)));
  const std::vector<double> with_missing = holm(std::vector<double>{NAN, 0.02, 0.9});
  EXPECT_TRUE(std::isnan(with_missing[0]));
  EXPECT_DOUBLE_EQ(with_missing[1], 0.04) << "what was not tested does not count";
  EXPECT_EQ(with_missing[2], 0.9);
}

// Benjamini and Hochberg 1995, section 4.1: 4 of 15 are discoveries, where Bonferroni has 3.
const std::vector<double> kPaper{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};

std::size_t discoveries(const std::vector<double>& p_values) {
  std::size_t count = 0;
  for (const double q : benjamini_hochberg(p_values)) count += q <= kFalseDiscoveryRate ? 1 : 0;
  return count;
}

TEST(FalseDiscovery, GivesTheDiscoveriesOfThePaper) {
  EXPECT_EQ(discoveries(kPaper), 4U);
  const std::vector<double> adjusted = benjamini_hochberg(kPaper);
  EXPECT_NEAR(adjusted[0], 0.0015, 1e-12);
  EXPECT_NEAR(adjusted[3], 0.035625, 1e-12);
  EXPECT_NEAR(adjusted[14], 1, 1e-12);
}

TEST(FalseDiscovery, DoesNotCountWhatWasNotTested) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> adjusted = benjamini_hochberg(std::vector<double>{none, 0.04, none});
  EXPECT_TRUE(std::isnan(adjusted[0]));
  EXPECT_NEAR(adjusted[1], 0.04, 1e-12);
  EXPECT_TRUE(std::isnan(discovery_limits(std::vector<double>{none, 0.04})[0]));
}

TEST(FalseDiscovery, LimitIsTheLargestPThatWouldBeADiscovery) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> p_values(1 + random() % 12);
    for (double& p : p_values) p = std::pow(uniform(random), 1 + static_cast<double>(random() % 5));
    const std::vector<double> limits = discovery_limits(p_values);
    for (std::size_t i = 0; i < p_values.size(); ++i) {
      std::vector<double> tried = p_values;
      tried[i] = limits[i] * (1 - 1e-9);
      EXPECT_LE(benjamini_hochberg(tried)[i], kFalseDiscoveryRate);
      tried[i] = limits[i] * (1 + 1e-9);
      EXPECT_GT(benjamini_hochberg(tried)[i], kFalseDiscoveryRate);
    }
  }
}

}  // namespace
}  // namespace scalebench
