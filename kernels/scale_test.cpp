// SPDX-License-Identifier: Apache-2.0
#include "kernels/scale.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/test_spans.hpp"

namespace scalebench {
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
}  // namespace scalebench
