// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(DType, NamesAndTypesAreInverses) {
  for (const DType dtype : kDTypes) {
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
    with_type(dtype, [&]<class T>() {
      EXPECT_EQ(kDTypeOf<T>, dtype);
      EXPECT_EQ(sizeof(T), size_of(dtype));
    });
  }
  EXPECT_EQ(dtype_named("float64"), std::nullopt);
  EXPECT_EQ(dtype_named(""), std::nullopt);
}

TEST(DType, SpansCountInElements) {
  std::vector<double> values{1, 2, 3, 4};
  const Span span = span_of(std::span(values));
  EXPECT_EQ(span.bytes(), 32U);
  EXPECT_EQ(span.part(1, 2).as<double>()[1], 3);
  EXPECT_EQ(ConstSpan(span).part(3, 1).as<double>()[0], 4);
}

}  // namespace

// Conversions of the 16-bit types against the definition, not against another conversion: every
// pattern is decoded by hand, and every float near a boundary is compared with both neighbours.

namespace {

struct Layout {
  int mantissa_bits;
  int exponent_bits;
};
template <class T>
constexpr Layout kLayout{10, 5};
template <>
constexpr Layout kLayout<BFloat16>{7, 8};

/// The value of a pattern, from the definition in IEEE 754.
template <class T>
double decoded(std::uint16_t bits) {
  const auto [mantissa_bits, exponent_bits] = kLayout<T>;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class T>
class HalfTypes : public testing::Test {};
using Both = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfTypes, Both);

TYPED_TEST(HalfTypes, EveryPatternDecodesAndComesBack) {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
    TypeParam number;
    number.bits = static_cast<std::uint16_t>(pattern);
    const double want = decoded<TypeParam>(number.bits);
    const auto value = static_cast<float>(number);
    const TypeParam back(value);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << pattern;
    } else {
      ASSERT_EQ(value, want) << pattern;
      ASSERT_EQ(std::signbit(value), std::signbit(want)) << pattern;
      ASSERT_EQ(back.bits, pattern);
    }
  }
}

TYPED_TEST(HalfTypes, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  const auto [mantissa_bits, exponent_bits] = kLayout<TypeParam>;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double below = decoded<TypeParam>(low);
    // Past the largest number lies the power of two that would come next; it becomes infinity.
    const double step = below - decoded<TypeParam>(static_cast<std::uint16_t>(low - 1));
    const double above = high == infinity ? below + step : decoded<TypeParam>(high);
    const auto middle = static_cast<float>((below + above) / 2);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(TypeParam(middle).bits, even) << low;
    ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000U) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0F)).bits, low);
    ASSERT_EQ(TypeParam(std::nextafter(middle, HUGE_VALF)).bits, high);
  }
}

TYPED_TEST(HalfTypes, ConvertsAtCompileTime) {
  static_assert(TypeParam(1.0F) == TypeParam(1.0F));
  static_assert(static_cast<float>(TypeParam(-2.5F)) == -2.5F);
}

TYPED_TEST(HalfTypes, VectorAndScalarConversionsAgreeOnEveryPattern) {
  const TestSpan narrow(65536, kDTypeOf<TypeParam>);
  const TestSpan wide(65536, DType::float32);
  const TestSpan back(65536, kDTypeOf<TypeParam>);
  for (std::size_t i = 0; i < 65536; ++i) {
    narrow.get().template as<TypeParam>()[i].bits = static_cast<std::uint16_t>(i);
  }
  cast(narrow, wide);
  cast(wide, back);
  for (std::size_t i = 0; i < 65536; ++i) {
    const TypeParam number = narrow.get().template as<TypeParam>()[i];
    const float value = wide.get().template as<float>()[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value),
              std::bit_cast<std::uint32_t>(static_cast<float>(number)))
        << i;
    ASSERT_EQ(back.get().template as<TypeParam>()[i].bits, TypeParam(value).bits) << i;
  }
}

}  // namespace

}  // namespace scalebench
