// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_buckets.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace scalebench {
namespace {

using Parameters = std::vector<std::size_t>;

/// Parameters of 8, 40, 16 and 100 elements, the last one first, each at a multiple of 16.
const std::vector<FlatPlace> kPlaces{{176, 8}, {128, 40}, {112, 16}, {0, 100}};
constexpr std::size_t kExtent = 192;

TEST(GradientBuckets, CoverTheBufferInItsOrder) {
  for (const std::size_t bytes : {1U, 64U, 100U, 300U, 500U, 1000U}) {
    std::size_t end = 0;
    std::size_t parameter = kPlaces.size();
    for (const GradientBucket& bucket : buckets_of(kPlaces, kExtent, bytes, bytes)) {
      EXPECT_EQ(bucket.first, end);
      end += bucket.count;
      for (const std::size_t index : bucket.parameters) EXPECT_EQ(index, --parameter);
      EXPECT_TRUE(bucket.count * sizeof(float) >= bytes || parameter == 0);
    }
    EXPECT_EQ(end, kExtent);
    EXPECT_EQ(parameter, 0U);
  }
}

TEST(GradientBuckets, EndWithTheParameterThatFillsThem) {
  const auto buckets = buckets_of(kPlaces, kExtent, 1, 200);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].parameters, Parameters{3});
  EXPECT_EQ(buckets[1].parameters, (Parameters{2, 1}));
  EXPECT_EQ(buckets[2].parameters, Parameters{0});
}

TEST(GradientBuckets, TheFirstIsNotLargerThanTheOthers) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(buckets_of(kPlaces, kExtent, kNoLimit, 1).size(), 4U);
  EXPECT_EQ(buckets_of(kPlaces, kExtent, 1, kNoLimit).size(), 2U);
  EXPECT_EQ(buckets_of(kPlaces, kExtent, kNoLimit, kNoLimit).size(), 1U);
}

}  // namespace
}  // namespace scalebench
