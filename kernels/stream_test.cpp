// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/test_spans.hpp"

namespace scalebench {
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
