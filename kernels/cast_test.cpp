// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/error.hpp"
#include "kernels/test_spans.hpp"

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
}  // namespace scalebench
