// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

double small_value(std::size_t source, std::size_t i) {
  return static_cast<double>((i * 7 + source * 3) % 5) - 1;
}

double expected(ReduceOp op, std::size_t sources, std::size_t i) {
  double result = small_value(0, i);
  for (std::size_t k = 1; k < sources; ++k) {
    const double next = small_value(k, i);
    if (op == ReduceOp::sum) result += next;
    if (op == ReduceOp::prod) result *= next;
    if (op == ReduceOp::min) result = std::min(result, next);
    if (op == ReduceOp::max) result = std::max(result, next);
  }
  return result;
}

struct Shape {
  std::size_t sources, destinations;
  bool in_place;  // the destinations are the first sources
};

void expect_combined(DType dtype, std::size_t count, std::size_t shift, ReduceOp op, Shape shape,
                     Stores stores) {
  SCOPED_TRACE(fmt::format("{} x {} after {}, {} of {} to {}{}", count, name_of(dtype), shift,
                           name_of(op), shape.sources, shape.destinations,
                           shape.in_place ? ", in place" : ""));
  std::vector<TestSpan> sources, destinations;
  for (std::size_t k = 0; k < shape.sources; ++k) {
    sources.emplace_back(count, dtype, shift).fill([&](std::size_t i) {
      return small_value(k, i);
    });
  }
  for (std::size_t j = 0; j < shape.destinations; ++j) {
    // One that lies differently, which streaming stores cannot serve together with the others.
    destinations.emplace_back(count, dtype, j == 2 ? shift + 1 : shift);
  }
  std::vector<TestSpan>& results = shape.in_place ? sources : destinations;
  std::vector<ConstSpan> from;
  std::vector<Span> to;
  for (const TestSpan& source : sources) from.push_back(source.get());
  for (std::size_t j = 0; j < shape.destinations; ++j) to.push_back(results[j].get());
  combine(from, to, op, stores);
  for (std::size_t j = 0; j < shape.destinations; ++j) {
    const std::vector<double> values = results[j].values();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(values[i], expected(op, shape.sources, i)) << "destination " << j << " at " << i;
    }
    EXPECT_TRUE(results[j].margins_are_zero());
  }
}

TEST(Combine, IsExactForEveryOpDtypeSizeAlignmentAndShape) {
  constexpr std::array kShapes{Shape{2, 1, true}, Shape{2, 2, true}, Shape{3, 3, false},
                               Shape{1, 2, false}, Shape{5, 2, true}};
  for (const DType dtype : kDTypes) {
    for (const std::size_t count : {0, 1, 31, 32, 33, 1000}) {
      for (const std::size_t shift : kTestShifts) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
          for (const Shape shape : kShapes) {
            for (const Stores stores : {Stores::cached, Stores::streaming}) {
              expect_combined(dtype, count, shift, op, shape, stores);
            }
          }
        }
      }
    }
  }
}

TEST(Combine, RoundsHalfTypesOnce) {
  // 1 + 2^-11 + 2^-11: adding one by one in half loses both small terms, in float neither.
  std::vector<TestSpan> sources;
  for (const double value : {1.0, 0x1p-11, 0x1p-11}) {
    sources.emplace_back(40, DType::float16).fill([=](std::size_t) { return value; });
  }
  const std::vector<ConstSpan> from{sources[0], sources[1], sources[2]};
  const std::vector<Span> to{sources[0]};
  combine(from, to, ReduceOp::sum);
  for (const double value : sources[0].values()) ASSERT_EQ(value, 1 + 0x1p-10);
}

TEST(Combine, RoundsEveryHalfLikeTheScalarConversion) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    constexpr std::size_t kCount = 65536;
    TestSpan into(kCount, dtype), from(kCount, dtype);
    with_type(dtype, [&]<class T>() {
      if constexpr (kStoredOnly<T>) {
        std::vector<T> expected;
        for (std::size_t i = 0; i < kCount; ++i) {
          T& a = into.get().as<T>()[i];
          T& b = from.get().as<T>()[i];
          a.bits = static_cast<std::uint16_t>(i);
          b.bits = static_cast<std::uint16_t>(i * 40503U);
          expected.push_back(static_cast<T>(static_cast<float>(a) + static_cast<float>(b)));
        }
        const std::array<ConstSpan, 2> both{into, from};
        const Span to = into;
        combine(both, std::span(&to, 1), ReduceOp::sum);
        for (std::size_t i = 0; i < kCount; ++i) {
          const T sum = into.get().as<T>()[i];
          const auto want = static_cast<float>(expected[i]);
          if (want == want) {
            ASSERT_EQ(sum.bits, expected[i].bits) << i;
          } else {
            ASSERT_NE(static_cast<float>(sum), static_cast<float>(sum)) << i;
          }
        }
      }
    });
  }
}

TEST(Combine, WrapsIntegers) {
  TestSpan a(33, DType::int32), b(33, DType::int32);
  a.fill([](std::size_t) { return 2147483647.0; });
  b.fill([](std::size_t) { return 2.0; });
  const std::vector<ConstSpan> from{a, b};
  const std::vector<Span> to{a};
  combine(from, to, ReduceOp::sum);
  for (const double value : a.values()) ASSERT_EQ(value, -2147483647.0);
}

TEST(Combine, RefusesWhatDoesNotFit) {
  const TestSpan a(4, DType::float32), b(5, DType::float32);
  const std::vector<ConstSpan> unequal{a, b}, one{a}, none;
  const std::vector<Span> to{a};
  EXPECT_THROW(combine(unequal, to, ReduceOp::sum), Error);
  EXPECT_THROW(combine(none, to, ReduceOp::sum), Error);
  EXPECT_THROW(combine(one, to, ReduceOp::avg), Error);
}

}  // namespace
}  // namespace scalebench
