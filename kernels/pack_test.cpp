// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/test_spans.hpp"

namespace scalebench {
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
}  // namespace scalebench
