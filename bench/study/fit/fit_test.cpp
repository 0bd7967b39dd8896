// SPDX-License-Identifier: Apache-2.0
// Times made from known coefficients, which the fit must give back; and where it cannot.
#include "bench/study/fit/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace scalebench {

namespace {

constexpr double kAlpha = 3e-6, kBeta = 2e-10, kGamma = 5e-11;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

AllreduceWork ring(double p, double bytes) {
  return {2 * (p - 1), 2 * bytes * (p - 1) / p, bytes * (p - 1) / p};
}

/// Every rank reads all others' buffers: what is reduced grows with p, what is sent does not.
AllreduceWork gather(double p, double bytes) { return {2, bytes, bytes * (p - 1)}; }

double seconds_of(const AllreduceWork& work) {
  return kAlpha * work.steps + kBeta * work.sent_bytes + kGamma * work.reduced_bytes;
}

/// Sizes from 8 bytes to 128 MiB for each number of ranks, `noise` in relative terms.
template <class Work>
std::vector<MeasuredWork> measured(Work work, const std::vector<double>& ranks, double noise = 0) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<MeasuredWork> points;
  for (const double p : ranks) {
    for (double bytes = 8; bytes <= 1 << 27; bytes *= 4) {
      points.push_back({work(p, bytes), bytes, seconds_of(work(p, bytes)) * off(random)});
    }
  }
  return points;
}

void expect_relative(double value, double expected, double tolerance) {
  EXPECT_NEAR(value / expected, 1, tolerance) << value << " for " << expected;
}

TEST(Fit, GivesBackTheCoefficientsOverSeveralRanks) {
  const auto fit = fit_of(measured(gather, {2, 3, 4, 8}));
  ASSERT_TRUE(fit && fit->gamma_seconds_per_byte);
  expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 1e-9);
  expect_relative(*fit->gamma_seconds_per_byte, kGamma, 1e-9);
  EXPECT_LT(fit->rms_relative_residual, 1e-9);
  EXPECT_EQ(fit->points, 4U * 13U);
}

TEST(Fit, ToleratesNoiseAndSaysHowMuchThereIs) {
  const auto fit = fit_of(measured(gather, {2, 3, 4, 8}, 0.05));
  ASSERT_TRUE(fit && fit->gamma_seconds_per_byte);
  expect_relative(fit->alpha_seconds, kAlpha, 0.03);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 0.1);
  expect_relative(*fit->gamma_seconds_per_byte, kGamma, 0.1);
  EXPECT_NEAR(fit->rms_relative_residual, 0.05 / std::sqrt(3.0), 0.01) << "of a uniform spread";
}

TEST(Fit, LeavesGammaEmptyWhereSendingAndReducingGrowTogether) {
  // For a ring the two are in proportion on any number of ranks; beta then carries both.
  for (const std::vector<double>& ranks : {std::vector<double>{2}, {2, 4, 8}}) {
    const auto fit = fit_of(measured(ring, ranks));
    ASSERT_TRUE(fit);
    EXPECT_FALSE(fit->gamma_seconds_per_byte);
    expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
    expect_relative(fit->beta_seconds_per_byte, kBeta + kGamma / 2, 1e-9);
  }
  EXPECT_FALSE(fit_of(measured(gather, {4}))->gamma_seconds_per_byte) << "one number of ranks";
}

TEST(Fit, TakesUnknownWorkAsOneStepAndTheBuffer) {
  std::vector<MeasuredWork> points;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    points.push_back({{kUnknown, kUnknown, kUnknown}, bytes, kAlpha + kBeta * bytes});
  }
  const auto fit = fit_of(points);
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->gamma_seconds_per_byte) << "what a library reduces is unknown";
  expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 1e-9);
  expect_relative(predicted_seconds(*fit, points[0].work, 5e7), kAlpha + kBeta * 5e7, 1e-9);
}

TEST(Fit, NeverClaimsANegativeLatency) {
  // Twenty times as long for ten times the bytes: a line through that starts below zero.
  std::vector<MeasuredWork> points;
  for (const double bytes : {1e3, 1e4, 1e5}) {
    points.push_back({{1, bytes, 0}, bytes, 1e-9 * std::pow(bytes, std::log10(20.0))});
  }
  const auto fit = fit_of(points);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->alpha_seconds, 0);
  double once = 0, twice = 0;
  for (const MeasuredWork& point : points) {
    once += point.size_bytes / point.seconds;
    twice += std::pow(point.size_bytes / point.seconds, 2);
  }
  expect_relative(fit->beta_seconds_per_byte, once / twice, 1e-12);
  EXPECT_GT(fit->rms_relative_residual, 0.2) << "it does not fit, and says so";
}

TEST(Fit, NeedsTwoSizesAndMorePointsThanUnknowns) {
  EXPECT_FALSE(fit_of({}));
  const auto points = measured(ring, {2});
  EXPECT_FALSE(fit_of(std::vector(points.begin(), points.begin() + 2)));
  EXPECT_TRUE(fit_of(std::vector(points.begin(), points.begin() + 3)));
  std::vector<MeasuredWork> one_size;
  for (const double p : {2, 3, 4, 8}) one_size.push_back({ring(p, 64), 64, 1e-6 * p});
  EXPECT_FALSE(fit_of(one_size));
}

}  // namespace

}  // namespace scalebench
