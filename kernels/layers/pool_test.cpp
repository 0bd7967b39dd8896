// SPDX-License-Identifier: Apache-2.0
// The largest of each window and the gradients that go back to it, against a plain loop over all
// pairs of a window and a pixel.
#include "kernels/layers/pool_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/layers/pool_body.hpp"

namespace scalebench {
namespace {

struct Expected {
  std::vector<double> y, x_gradient;
};

/// What each window takes, and gives back of `gradients`: by the definition.
Expected expected_of(const PoolShape& shape, const std::vector<double>& x,
                     const std::vector<double>& gradients) {
  Expected expected{std::vector<double>(gradients.size()), std::vector<double>(x.size())};
  const std::size_t height = shape.out_height(), width = shape.out_width();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t channel = i % shape.channels, column = i / shape.channels % width;
    const std::size_t row = i / shape.channels / width % height;
    const std::size_t image = i / shape.channels / width / height;
    double best = -std::numeric_limits<double>::infinity();
    std::size_t from = x.size();
    for (std::size_t at = 0; at < x.size(); ++at) {
      const std::size_t pixel = at / shape.channels;
      const std::size_t down = pixel / shape.width % shape.height + shape.padding();
      const std::size_t across = pixel % shape.width + shape.padding();
      const bool inside =
          at % shape.channels == channel && pixel / shape.width / shape.height == image &&
          down - row * shape.stride < shape.window && across - column * shape.stride < shape.window;
      if (inside && (from == x.size() || x[at] > best || std::isnan(x[at]))) {
        best = x[at];
        from = at;
      }
    }
    expected.y[i] = best;
    expected.x_gradient[from] += gradients[i];
  }
  return expected;
}

void expect_equal(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
        << got[i] << " is not " << want[i] << " at " << i;
  }
}

TEST(MaxPool, TakesTheLargestAndGivesItsGradientBack) {
  for (const PoolShape& shape : pool_shapes()) {
    for (const bool twice : {false, true}) {
      SCOPED_TRACE(text_of(shape, twice));
      PoolArrays lone(shape, Memory::host), many(shape, Memory::host);
      pool_forward(lone.forward(), in_order);
      pool_backward(lone.backward(twice), in_order);
      body::pool_forward(many.forward(), 3, thread_launcher(4));
      body::pool_backward(many.backward(twice), 3, thread_launcher(4));
      std::vector<double> gradients = lone.y_gradient.values();
      const std::vector<double> second = lone.second.values();
      for (std::size_t i = 0; i < gradients.size() && twice; ++i) gradients[i] += second[i];
      const Expected expected = expected_of(shape, lone.x.values(), gradients);
      expect_equal(lone.y.values(), expected.y);
      expect_equal(lone.x_gradient.values(), expected.x_gradient);
      EXPECT_EQ(many.results(), lone.results());
    }
  }
}

TEST(MaxPool, KeepsWhatIsNotANumberAndTheFirstOfEquals) {
  const PoolShape shape{1, 1, 3, kWide, DType::float32, 3};
  PoolArrays arrays(shape, Memory::host);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> pixels{1, nan, -infinity};
  arrays.x.fill([&](std::size_t i) { return pixels[i / kWide]; });
  arrays.y_gradient.fill([](std::size_t i) { return i < kWide ? 1 : 2; });
  pool_forward(arrays.forward(), in_order);
  pool_backward(arrays.backward(false), in_order);
  const std::vector<double> y = arrays.y.values(), gradient = arrays.x_gradient.values();
  EXPECT_TRUE(std::isnan(y.front()) && std::isnan(y.back()));
  EXPECT_EQ(gradient[kWide], 3);
  arrays.x.fill([&](std::size_t) { return -infinity; });
  pool_forward(arrays.forward(), in_order);
  EXPECT_EQ(arrays.y.values(), std::vector<double>(2 * kWide, -infinity));
  pool_backward(arrays.backward(false), in_order);
  EXPECT_EQ(arrays.x_gradient.values()[0], 1);
  EXPECT_EQ(arrays.x_gradient.values()[kWide], 2);
}

TEST(MaxPool, RefusesWhatItCannot) {
  const PoolShape good{1, 4, 4, 8, DType::float32, 3};
  const auto refused = [&](auto change) {
    PoolShape shape = good;
    change(shape);
    EXPECT_THROW(require_pool(shape), Error);
  };
  EXPECT_NO_THROW(require_pool(good));
  refused([](PoolShape& shape) { shape.channels = 12; });
  refused([](PoolShape& shape) { shape.dtype = DType::float64; });
  refused([](PoolShape& shape) { shape.window = 1; });
  refused([](PoolShape& shape) { shape.window = 4; });
  refused([](PoolShape& shape) { shape.height = 0; });
  refused([](PoolShape& shape) { shape.window = 2, shape.width = 1; });
}

}  // namespace
}  // namespace scalebench
