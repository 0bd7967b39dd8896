// SPDX-License-Identifier: Apache-2.0
// For tests: all that pooling, forward and backward, reads and writes, in one memory.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/layers/pool.hpp"
#include "kernels/layers/testing.hpp"

namespace scalebench {

/// Of networks, and with each edge: windows that overlap, touch, and reach beyond.
inline std::vector<PoolShape> pool_shapes() {
  std::vector<PoolShape> shapes;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    shapes.push_back({2, 8, 8, 16, dtype, 3});
    shapes.push_back({2, 6, 7, 8, dtype, 2});
    shapes.push_back({1, 9, 5, 24, dtype, 3});
    shapes.push_back({3, 5, 6, 8, dtype, 2});
    shapes.push_back({1, 1, 1, 8, dtype, 3});
  }
  return shapes;
}

inline std::string text_of(const PoolShape& shape, bool twice) {
  return fmt::format("{} x {} x {} x {} of {}, windows of {}, twice {}", shape.images, shape.height,
                     shape.width, shape.channels, name_of(shape.dtype), shape.window, twice);
}

class PoolArrays {
 public:
  PoolArrays(const PoolShape& shape, Memory memory) : shape_(shape) {
    const std::size_t numbers = shape.images * shape.height * shape.width * shape.channels;
    for (TestSpan* const span : {&x, &x_gradient}) {
      *span = TestSpan(numbers, shape.dtype, 0, memory);
    }
    for (TestSpan* const span : {&y, &y_gradient, &second}) {
      *span = TestSpan(shape.results(), shape.dtype, 0, memory);
    }
    places = TestSpan(shape.results() / 4, DType::int32, 0, memory);
    // Small integers: many are equal, and sums of gradients are exact in any order.
    x.fill([](std::size_t i) { return static_cast<double>(i * 2654435761U % 13) - 6; });
    y_gradient.fill([](std::size_t i) { return static_cast<double>(i * 40503U % 11) - 5; });
    second.fill([](std::size_t i) { return static_cast<double>(i * 9973U % 7) - 3; });
  }

  PoolForward forward() { return {shape_, x.get().data, y.get().data, bytes()}; }
  PoolBackward backward(bool twice) {
    return {shape_, y_gradient.get().data, twice ? second.get().data : nullptr, bytes(),
            x_gradient.get().data};
  }

  /// All that was written.
  std::vector<std::vector<double>> results() const {
    for (const TestSpan* const span : {&y, &x_gradient, &places}) {
      EXPECT_TRUE(span->margins_are_zero());
    }
    return {y.values(), x_gradient.values(), places.values()};
  }

  TestSpan x = none(), x_gradient = none(), y = none(), y_gradient = none(), second = none();
  TestSpan places = none();

 private:
  static TestSpan none() { return {0, DType::float32}; }
  std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(places.get().data); }

  PoolShape shape_;
};

}  // namespace scalebench
