// SPDX-License-Identifier: Apache-2.0
#include "kernels/chunks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace scalebench {
namespace {

TEST(Chunks, EveryChunkOfEveryArrayIsTheirsInOrder) {
  constexpr std::array<std::size_t, 8> kLengths{0, 3, 1, 0, 0, 100, 2, 0};
  Chunks<8> chunks;
  for (const std::size_t length : kLengths) ASSERT_TRUE(chunks.push(length));
  unsigned next = 0;
  for (std::size_t array = 0; array < kLengths.size(); ++array) {
    for (std::size_t chunk = 0; chunk < kLengths[array]; ++chunk) {
      const auto place = chunks.place_of(next++);
      EXPECT_EQ(place.array, static_cast<int>(array));
      EXPECT_EQ(place.chunk, chunk);
    }
  }
  EXPECT_EQ(chunks.total(), next);
}

TEST(Chunks, WhatHasNoRoomIsRefused) {
  Chunks<2> chunks;
  EXPECT_EQ(chunks.total(), 0U);
  EXPECT_TRUE(chunks.push(5));
  EXPECT_FALSE(chunks.push(std::numeric_limits<unsigned>::max()));
  EXPECT_TRUE(chunks.push(1));
  EXPECT_FALSE(chunks.push(1));
  EXPECT_EQ(chunks.total(), 6U);
}

}  // namespace
}  // namespace scalebench
