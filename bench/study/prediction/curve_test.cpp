// SPDX-License-Identifier: Apache-2.0
// Curves made from known coefficients must be predicted exactly, where they were measured and where
// not; measured bends must be kept; what nobody knows must be refused.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/study/prediction/step.hpp"
#include "kernels/error.hpp"

namespace scalebench::curve_test {
namespace {

constexpr double kAlpha = 50e-6, kBeta = 8e-9, kGamma = 1e-10;

AllreduceWork ring(double bytes, const RankLayout& at) {
  const double p = at.ranks;
  return {2 * (p - 1), 2 * bytes * (p - 1) / p, bytes * (p - 1) / p};
}
/// What it sends and what it reduces do not grow together with p.
AllreduceWork rabenseifner(double bytes, const RankLayout& at) {
  const double rounds = std::floor(std::log2(at.ranks)), halved = 1 - std::exp2(-rounds);
  const double folded = std::exp2(rounds) < at.ranks ? 1 : 0;
  return {2 * rounds + 2 * folded, bytes * (2 * halved + folded), bytes * (halved + folded)};
}

double exact(const AllreduceWork& work) {
  return kAlpha * work.steps + kBeta * work.sent_bytes + kGamma * work.reduced_bytes;
}

template <class Work>
std::vector<CurvePoint> curve(Work work, std::initializer_list<RankLayout> layouts) {
  std::vector<CurvePoint> points;
  for (const RankLayout& at : layouts) {
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 4) {
      points.push_back({at, bytes, exact(work(bytes, at))});
    }
  }
  return points;
}

void expect_relative(double value, double wanted, double tolerance) {
  EXPECT_LE(std::abs(value / wanted - 1), tolerance) << value << " instead of " << wanted;
}

TEST(AllreduceCurve, IsExactInAnExactWorld) {
  const AllreduceCurve of_ring({"ring"}, curve(ring, {{2, 2}, {3, 3}}));
  const AllreduceCurve of_pairs({"rabenseifner"}, curve(rabenseifner, {{2, 1}, {3, 1}}));
  for (const double bytes : {100., 1024., 5000., 46.8e6, 1e9}) {
    for (const int n : {2, 3, 4, 16, 256}) {
      expect_relative(of_ring.seconds(bytes, {n, n}), exact(ring(bytes, {n, n})), 1e-9);
      expect_relative(of_pairs.seconds(bytes, {n, 1}), exact(rabenseifner(bytes, {n, 1})), 1e-9);
    }
  }
  EXPECT_TRUE(of_ring.is_measured({3, 3}));
  EXPECT_FALSE(of_ring.is_measured({3, 1}));
  EXPECT_EQ(of_ring.seconds(1e6, {1, 1}), 0);
}

TEST(AllreduceCurve, KeepsItsBendsAndNeverFalls) {
  // Twice the model's time around 1 MiB, on both N; one point that lies below its neighbour.
  std::vector<CurvePoint> points = curve(ring, {{2, 1}, {3, 1}});
  for (CurvePoint& point : points) {
    if (point.size_bytes == 1 << 20) point.seconds *= 2;
    if (point.size_bytes == 1 << 12) point.seconds /= 10;
  }
  const AllreduceCurve bent({"ring"}, points);
  for (const int n : {2, 3}) {
    double before = 0;
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 1.1) {
      const double seconds = bent.seconds(bytes, {n, 1});
      EXPECT_GE(seconds, before);
      before = seconds;
    }
    expect_relative(bent.seconds(1 << 20, {n, 1}), 2 * exact(ring(1 << 20, {n, 1})), 1e-12);
  }
  // What lies off the model at a size does so on other N, too.
  const double off = bent.seconds(1 << 20, {4, 1}) / bent.seconds(1 << 22, {4, 1});
  const double off_measured = bent.seconds(1 << 20, {3, 1}) / bent.seconds(1 << 22, {3, 1});
  expect_relative(off, off_measured, 0.01);
}

TEST(AllreduceCurve, GoesOnSlowingDownWhereRanksShareCores) {
  // Twice as many ranks take 10 % more than links say, on 2, 4 and 8.
  std::vector<CurvePoint> points = curve(ring, {{2, 2}, {4, 4}, {8, 8}});
  for (CurvePoint& point : points) point.seconds *= std::pow(point.at.ranks, std::log2(1.1));
  const AllreduceCurve apart({"ring"}, points), together({"ring"}, points, true);
  for (const double bytes : {1 << 16, 1 << 24}) {
    const double wanted = together.seconds(bytes, {8, 8}) * 1.1 * exact(ring(bytes, {16, 16})) /
                          exact(ring(bytes, {8, 8}));
    expect_relative(together.seconds(bytes, {16, 16}), wanted, 0.05);
    EXPECT_LT(apart.seconds(bytes, {16, 16}), together.seconds(bytes, {16, 16}));
  }
}

TEST(AllreduceCurve, WithTooFewPointsSaysOnlyWhatLiesBetweenThem) {
  const std::vector<CurvePoint> two{{{2, 1}, 1 << 10, 1e-4}, {{2, 1}, 1 << 20, 1e-2}};
  const AllreduceCurve few({"ring"}, two);
  EXPECT_NEAR(few.seconds(1 << 15, {2, 1}), 1e-3, 1e-12);  // straight in logarithms
  EXPECT_THROW(few.seconds(1 << 21, {2, 1}), Unavailable);
  EXPECT_THROW(few.seconds(1 << 15, {4, 1}), Unavailable);
}

TEST(AllreduceCurve, OfALibraryIsKnownOnlyWhereItWasMeasured) {
  const AllreduceCurve native({"native"}, curve(ring, {{2, 1}, {4, 1}}));
  expect_relative(native.seconds(1 << 20, {4, 1}), exact(ring(1 << 20, {4, 1})), 1e-9);
  EXPECT_THROW(native.seconds(1 << 20, {8, 1}), Unavailable);
  EXPECT_THROW(native.seconds(1 << 20, {4, 1}, {.bytes_per_second = 1e9}), Unavailable);
}

TEST(AllreduceCurve, InsideANodeSaysNothingOfBetween) {
  const AllreduceCurve local({"ring"}, curve(ring, {{2, 1}, {4, 1}}));
  EXPECT_THROW(local.seconds(1 << 20, {4, 2}), Unavailable);
  EXPECT_NO_THROW(local.seconds(1 << 20, {4, 2}, {.bytes_per_second = 125e6}));
}

TEST(AllreduceCurve, TakesAnotherNetwork) {
  const AllreduceCurve of({"rabenseifner"}, curve(rabenseifner, {{2, 1}, {3, 1}}));
  const RankLayout at{4, 4};
  const AllreduceWork work = rabenseifner(1e6, at);
  expect_relative(of.seconds(1e6, at, {.bytes_per_second = 1e9, .seconds_a_step = 1e-3}),
                  1e-3 * work.steps + work.sent_bytes / 1e9 + kGamma * work.reduced_bytes, 1e-9);
  // Several ranks behind one link: of a ring one sends on it, of other patterns nobody knows.
  EXPECT_THROW(of.seconds(1e6, {4, 2}, {.bytes_per_second = 1e9}), Unavailable);
}

TEST(AllreduceCurve, OfAHierarchyIsInsideAndBetween) {
  const AllreduceCurve of({"hierarchical"}, curve(ring, {{2, 1}, {4, 1}}));
  const double beta = kBeta + kGamma / 2;  // a ring's two shares cannot be told apart
  const double wanted = kAlpha * 2 + beta * 1e6 + 1e-3 * 6 + 2 * 1e6 * 3 / 4 / 1e9;
  expect_relative(of.seconds(1e6, {8, 4}, {.bytes_per_second = 1e9, .seconds_a_step = 1e-3}),
                  wanted, 1e-9);
}

}  // namespace
}  // namespace scalebench::curve_test
