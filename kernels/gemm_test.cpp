// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(Gemm, EqualsTheDefinition) {
  constexpr std::size_t kM = 5, kN = 33, kK = 17;
  for (const DType dtype : {DType::float32, DType::float64}) {
    TestSpan a(kM * kK, dtype, 1);
    TestSpan b(kK * kN, dtype);
    TestSpan c(kM * kN, dtype, 2);
    a.fill(small_integer);
    b.fill([](std::size_t i) { return small_integer(i + 3); });
    c.fill([](std::size_t) { return 1e9; });
    gemm(a, b, c, kM, kN, kK);
    const std::vector<double> product = c.values();
    for (std::size_t row = 0; row < kM; ++row) {
      for (std::size_t column = 0; column < kN; ++column) {
        double sum = 0;
        for (std::size_t i = 0; i < kK; ++i) {
          sum += small_integer(row * kK + i) * small_integer(i * kN + column + 3);
        }
        ASSERT_EQ(product[row * kN + column], sum) << row << ", " << column;
      }
    }
    EXPECT_TRUE(c.margins_are_zero());
  }
}

TEST(Gemm, AnEmptySumIsZero) {
  const TestSpan none(0, DType::float32);
  TestSpan c(6, DType::float32);
  c.fill([](std::size_t) { return 1.0; });
  gemm(none, none, c, 2, 3, 0);
  EXPECT_EQ(c.values(), std::vector<double>(6, 0.0));
}

TEST(Gemm, RefusesWhatItCannotDo) {
  const TestSpan four(4, DType::float32);
  const TestSpan result(4, DType::float32);
  const TestSpan halves(4, DType::float16);
  const TestSpan half_result(4, DType::float16);
  EXPECT_THROW(gemm(halves, halves, half_result, 2, 2, 2), Unavailable);
  EXPECT_THROW(gemm(four, four, result, 2, 2, 2, {}, GemmMath::tf32), Unavailable);
  EXPECT_THROW(gemm(four, four, result, 2, 2, 3), Error);
  EXPECT_THROW(gemm(four, four, four, 2, 2, 2), Error);
  EXPECT_THROW(gemm(four, halves, result, 2, 2, 2), Error);
}

}  // namespace
}  // namespace scalebench
