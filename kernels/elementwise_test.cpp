// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(Cast, IsExactBetweenEveryTwoDtypes) {
  for (const DType from_type : kDTypes) {
    for (const DType to_type : kDTypes) {
      for (const std::size_t count : kTestSizes) {
        const std::size_t shift = count % 3;
        SCOPED_TRACE(fmt::format("{} x {} to {}", count, name_of(from_type), name_of(to_type)));
        TestSpan from(count, from_type, shift);
        const TestSpan to(count, to_type, 1);
        from.fill(small_integer);
        cast(from, to);
        const std::vector<double> result = to.values();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], small_integer(i)) << i;
        EXPECT_TRUE(to.margins_are_zero());
      }
    }
  }
}

/// 40 copies of `value`, so that the vector path is taken, cast from one dtype to another.
double cast_one(double value, DType from_type, DType to_type) {
  TestSpan from(40, from_type);
  const TestSpan to(40, to_type);
  from.fill([value](std::size_t) { return value; });
  cast(from, to);
  const std::vector<double> result = to.values();
  EXPECT_TRUE(result[0] == result[39] || std::isnan(result[0]));
  return result[0];
}

TEST(Cast, RoundsOnceFromTypesWiderThanFloat) {
  // Just above the middle between two numbers of the target: rounding to float first would land on
  // the middle, and then go to the even neighbour below.
  EXPECT_EQ(cast_one(1 + 0x1p-11 + 0x1p-40, DType::float64, DType::float16), 1 + 0x1p-10);
  EXPECT_EQ(cast_one(-1 - 0x1p-8 - 0x1p-40, DType::float64, DType::bfloat16), -1 - 0x1p-7);
  EXPECT_EQ(cast_one(0x1p30 + 0x1p22 + 1, DType::int32, DType::bfloat16), 0x1p30 + 0x1p23);
  EXPECT_EQ(cast_one(1 + 0x1p-11 - 0x1p-40, DType::float64, DType::float16), 1);
  EXPECT_EQ(cast_one(1e300, DType::float64, DType::float16), HUGE_VAL);
  EXPECT_EQ(cast_one(-1e300, DType::float64, DType::bfloat16), -HUGE_VAL);
  EXPECT_EQ(cast_one(1e-300, DType::float64, DType::float16), 0);
}

TEST(Cast, RoundsToNearestIntegerAndSaturates) {
  for (const DType from : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    SCOPED_TRACE(name_of(from));
    EXPECT_EQ(cast_one(2.5, from, DType::int32), 2);
    EXPECT_EQ(cast_one(3.5, from, DType::int32), 4);
    EXPECT_EQ(cast_one(-0.75, from, DType::int32), -1);
    EXPECT_EQ(cast_one(HUGE_VAL, from, DType::int32), 2147483647);
    EXPECT_EQ(cast_one(-HUGE_VAL, from, DType::int32), -2147483648.0);
    EXPECT_EQ(cast_one(std::nan(""), from, DType::int32), 0);
  }
}

TEST(Cast, KeepsNaN) {
  for (const DType from : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const DType to : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      EXPECT_TRUE(std::isnan(cast_one(std::nan(""), from, to)));
    }
  }
}

TEST(Cast, RefusesSpansThatDoNotMatch) {
  const TestSpan eight(8, DType::float32);
  const TestSpan seven(7, DType::float16);
  EXPECT_THROW(cast(eight, seven), Error);
  Span narrower = eight;
  narrower.dtype = DType::float16;
  EXPECT_THROW(cast(eight, narrower), Error);
  EXPECT_NO_THROW(cast(eight, eight));
}

}  // namespace

namespace {

TEST(Pack, PutsPartsBehindEachOtherAndBack) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(name_of(dtype));
    std::vector<TestSpan> parts;
    std::vector<ConstSpan> sources;
    std::vector<Span> targets;
    std::size_t total = 0;
    for (const std::size_t count : kTestSizes) {
      parts.emplace_back(count, dtype, count % 3);
      parts.back().fill([total](std::size_t i) { return small_integer(total + i); });
      sources.push_back(parts.back());
      targets.push_back(parts.back());
      total += count;
    }
    const TestSpan flat(total, dtype, 1);
    pack(sources, flat);
    const std::vector<double> packed = flat.values();
    for (std::size_t i = 0; i < total; ++i) ASSERT_EQ(packed[i], small_integer(i)) << i;

    for (TestSpan& part : parts) part.fill([](std::size_t) { return 0.0; });
    unpack(flat, targets);
    std::size_t first = 0;
    for (const TestSpan& part : parts) {
      for (const double value : part.values()) ASSERT_EQ(value, small_integer(first++));
      EXPECT_TRUE(part.margins_are_zero());
    }
  }
}

TEST(Pack, AcceptsNothing) {
  pack({}, Span{});
  unpack(ConstSpan{}, {});
  const std::vector<ConstSpan> empty(3);
  pack(empty, Span{});
}

TEST(Pack, RefusesPartsThatDoNotFit) {
  const TestSpan flat(8, DType::float32);
  const TestSpan three(3, DType::float32);
  const TestSpan five_doubles(5, DType::float64);
  const std::vector<ConstSpan> too_few{three};
  const std::vector<ConstSpan> other_dtype{three, five_doubles};
  const std::vector<ConstSpan> itself{flat};
  EXPECT_THROW(pack(too_few, flat), Error);
  EXPECT_THROW(pack(other_dtype, flat), Error);
  EXPECT_THROW(pack(itself, flat), Error);
  const std::vector<Span> targets{three};
  EXPECT_THROW(unpack(flat, targets), Error);
}

}  // namespace

namespace {

TEST(Scale, IsExactForEveryDtypeSizeAndAlignment) {
  for (const DType dtype : kDTypes) {
    for (const std::size_t count : kTestSizes) {
      for (const std::size_t shift : kTestShifts) {
        SCOPED_TRACE(fmt::format("{} x {} after {}", count, name_of(dtype), shift));
        TestSpan values(count, dtype, shift);
        values.fill([](std::size_t i) { return 4 * small_integer(i); });
        scale(values, 0.25);
        const std::vector<double> result = values.values();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], small_integer(i)) << i;
        EXPECT_TRUE(values.margins_are_zero());
      }
    }
  }
}

TEST(Scale, RoundsIntegersToNearestEvenAndSaturates) {
  TestSpan values(6, DType::int32);
  const std::vector<double> before{5, 7, -5, -7, 2147483647, -2147483648.0};
  values.fill([&](std::size_t i) { return before[i]; });
  scale(values, 0.5);
  EXPECT_EQ(values.values(), (std::vector<double>{2, 4, -2, -4, 1073741824, -1073741824}));
  values.fill([&](std::size_t i) { return before[i]; });
  scale(values, 1.5);
  EXPECT_EQ(values.values(), (std::vector<double>{8, 10, -8, -10, 2147483647, -2147483648.0}));
}

TEST(Scale, MultipliesHalfTypesInFloat) {
  TestSpan values(33, DType::float16);
  values.fill([](std::size_t) { return 3.0; });
  scale(values, 1.0 / 3);
  const auto expected = static_cast<double>(static_cast<float>(Half(3.0F * (1.0F / 3))));
  EXPECT_EQ(values.values()[32], expected);
}

}  // namespace

namespace {

TEST(Stream, CopyAndTriadAreExactForEveryDtypeSizeAndAlignment) {
  for (const DType dtype : kDTypes) {
    for (const std::size_t count : kTestSizes) {
      const std::size_t shift = count % 3;
      SCOPED_TRACE(fmt::format("{} x {} after {}", count, name_of(dtype), shift));
      TestSpan b(count, dtype, shift);
      TestSpan c(count, dtype, 1);
      const TestSpan copied(count, dtype, 2);
      const TestSpan a(count, dtype, shift);
      b.fill(small_integer);
      c.fill([](std::size_t i) { return static_cast<double>(i % 7); });
      stream_copy(b, copied);
      stream_triad(a, b, c, 3);
      EXPECT_EQ(copied.values(), b.values());
      const std::vector<double> result = a.values();
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(result[i], small_integer(i) + 3 * static_cast<double>(i % 7)) << i;
      }
      EXPECT_TRUE(a.margins_are_zero());
      EXPECT_TRUE(copied.margins_are_zero());
    }
  }
}

TEST(Stream, TriadRoundsProductAndSumSeparately) {
  // Fused, 2^-46 of the square would survive.
  const double x = 1 + 0x1p-23;
  TestSpan b(64, DType::float32);
  TestSpan c(64, DType::float32);
  const TestSpan a(64, DType::float32);
  b.fill([](std::size_t) { return -1 - 0x1p-22; });
  c.fill([x](std::size_t) { return x; });
  stream_triad(a, b, c, x);
  EXPECT_EQ(a.values()[63], 0);
}

TEST(Stream, RefusesSpansThatDoNotMatch) {
  const TestSpan eight(8, DType::float32);
  const TestSpan seven(7, DType::float32);
  const TestSpan doubles(8, DType::float64);
  EXPECT_THROW(stream_copy(eight, seven), Error);
  EXPECT_THROW(stream_copy(eight, doubles), Error);
  EXPECT_THROW(stream_triad(eight, eight, seven, 1), Error);
  EXPECT_THROW(stream_triad(eight, doubles, eight, 1), Error);
}

}  // namespace

}  // namespace scalebench
