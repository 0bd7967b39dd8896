// SPDX-License-Identifier: Apache-2.0
// Where intervals hold the median less often than 95 %: the numbers of results/README.md,
// "Intervals". Printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/measure/statistics.hpp"

namespace scalebench::coverage_test {
namespace {

using Random = std::mt19937_64;

/// Of the intervals that there are, the share that holds `median`.
double covered(const std::function<std::pair<double, double>()>& interval, double median) {
  constexpr int kTrials = 3000;
  double held = 0, known = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto [low, high] = interval();
    known += std::isnan(low) ? 0 : 1;
    held += low <= median && median <= high ? 1 : 0;
  }
  return held / known;
}

// Hardly anything lies near the median where about half of the launches are of either state.
TEST(Coverage, OfLaunchesOfTwoStatesIsLess) {
  Random random(5);
  std::normal_distribution<double> noise(0, 0.1);
  std::bernoulli_distribution is_fast(0.501);
  constexpr double kMedian = 9.288;  // what a normal one around 9 is below 0.5 / 0.501 of the times
  for (const auto& [n, expected] : {std::pair(6U, 0.88), {12U, 0.91}, {20U, 0.92}, {50U, 0.95}}) {
    std::vector<double> samples(n);
    const double share = covered(
        [&] {
          for (double& sample : samples) sample = (is_fast(random) ? 9 : 11) + noise(random);
          const LaunchInterval of = across_launches(samples);
          return std::pair(of.low, of.high);
        },
        kMedian);
    fmt::print("two states, {} launches: {:.3f}\n", n, share);
    EXPECT_NEAR(share, expected, 0.02) << n;
  }
}

/// One after the other, around 0.
using Repetitions = std::function<std::vector<double>(std::size_t)>;

double covered_of_repetitions(const Repetitions& repetitions, std::size_t n) {
  return covered(
      [&] {
        const Summary of = summarise(repetitions(n));
        return std::pair(of.ci_low, of.ci_high);
      },
      0);
}

// A swing as long as what was seen of it does not show.
TEST(Coverage, OfFewCorrelatedRepetitionsIsLess) {
  Random random(7);
  std::normal_distribution<double> noise;
  const auto swinging = [&](std::size_t n) {
    std::vector<double> values{noise(random)};
    while (values.size() < n) {
      values.push_back(0.9 * values.back() + std::sqrt(1 - 0.81) * noise(random));
    }
    return values;
  };
  std::bernoulli_distribution switches(0.02), is_fast(0.5);
  const auto switching = [&](std::size_t n) {
    std::vector<double> values(n);
    double state = is_fast(random) ? -1.5 : 1.5;
    for (double& value : values) {
      if (switches(random)) state = -state;
      value = state + noise(random);
    }
    return values;
  };
  for (const auto& [n, swing, states] : {std::tuple(30U, 0.77, 0.27),
                                         {75U, 0.92, 0.26},
                                         {100U, 0.96, 0.34},
                                         {200U, 0.98, 0.60},
                                         {1000U, 0.99, 0.94}}) {
    const double of_swings = covered_of_repetitions(swinging, n);
    const double of_states = covered_of_repetitions(switching, n);
    fmt::print("{} repetitions: {:.3f} swinging, {:.3f} of two states\n", n, of_swings, of_states);
    EXPECT_NEAR(of_swings, swing, n < 75 ? 0.06 : 0.03) << n;
    EXPECT_NEAR(of_states, states, 0.04) << n;
  }
}

}  // namespace
}  // namespace scalebench::coverage_test
