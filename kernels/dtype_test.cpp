// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/span.hpp"

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
}  // namespace scalebench
