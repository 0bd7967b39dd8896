// SPDX-License-Identifier: Apache-2.0
#include "kernels/add.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/error.hpp"
#include "kernels/test_spans.hpp"

namespace scalebench {
namespace {

TEST(Add, IsExactForEveryDtypeSizeAndAlignment) {
  for (const DType dtype : kDTypes) {
    for (const std::size_t count : kTestSizes) {
      for (const std::size_t shift : kTestShifts) {
        SCOPED_TRACE(fmt::format("{} x {} after {}", count, name_of(dtype), shift));
        TestSpan into(count, dtype, shift);
        TestSpan from(count, dtype, shift / 2);
        into.fill(small_integer);
        from.fill([](std::size_t i) { return static_cast<double>(i % 5); });
        add(into, from.get());
        const std::vector<double> sums = into.values();
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(sums[i], small_integer(i) + static_cast<double>(i % 5)) << i;
        }
        EXPECT_TRUE(into.margins_are_zero());
      }
    }
  }
}

TEST(Add, RoundsHalfTypesOnceLikeTheScalarConversion) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    constexpr std::size_t kCount = 65536;
    TestSpan into(kCount, dtype);
    TestSpan from(kCount, dtype);
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
        add(into, from.get());
        for (std::size_t i = 0; i < kCount; ++i) {
          const float sum = static_cast<float>(into.get().as<T>()[i]);
          const float want = static_cast<float>(expected[i]);
          if (want == want) {
            ASSERT_EQ(into.get().as<T>()[i].bits, expected[i].bits) << i;
          } else {
            ASSERT_NE(sum, sum) << i;
          }
        }
      }
    });
  }
}

TEST(Add, WrapsIntegers) {
  TestSpan into(40, DType::int32);
  TestSpan from(40, DType::int32);
  into.fill([](std::size_t) { return std::numeric_limits<std::int32_t>::max(); });
  from.fill([](std::size_t) { return 1.0; });
  add(into, from.get());
  EXPECT_EQ(into.values()[39], std::numeric_limits<std::int32_t>::min());
}

TEST(Add, DoublesAnArrayThatIsAddedToItself) {
  TestSpan both(1000, DType::float16);
  both.fill(small_integer);
  add(both, both.get());
  EXPECT_EQ(both.values()[999], 2 * small_integer(999));
}

TEST(Add, RefusesSpansThatDoNotMatch) {
  const TestSpan eight(8, DType::float32);
  const TestSpan seven(7, DType::float32);
  const TestSpan doubles(8, DType::float64);
  EXPECT_THROW(add(eight, seven), Error);
  EXPECT_THROW(add(eight, doubles), Error);
  EXPECT_THROW(add(eight.get().part(0, 4), eight.get().part(1, 4)), Error);
  ConstSpan elsewhere = eight;
  elsewhere.memory = Memory::device;
  EXPECT_THROW(add(eight, elsewhere), Error);
}

}  // namespace
}  // namespace scalebench
