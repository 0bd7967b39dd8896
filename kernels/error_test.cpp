// SPDX-License-Identifier: Apache-2.0
#include "kernels/error.hpp"

#include <gtest/gtest.h>

#include <array>

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 4> kValid{"naive", "ring", "native", "recursive_doubling"};

TEST(UnknownName, ListsWhatIsValidAndGuesses) {
  EXPECT_EQ(unknown_name("algorithm", "rnig", kValid),
            "unknown algorithm 'rnig'; valid: naive, ring, native, recursive_doubling "
            "(did you mean 'ring'?)");
  EXPECT_EQ(unknown_name("algorithm", "butterfly", kValid),
            "unknown algorithm 'butterfly'; valid: naive, ring, native, recursive_doubling");
}

TEST(UnknownName, FindsTheNearest) {
  EXPECT_EQ(nearest_name("ring", kValid), "ring");
  EXPECT_EQ(nearest_name("natvie", kValid), "native");
  EXPECT_EQ(nearest_name("recursive-doubling", kValid), "recursive_doubling");
  EXPECT_EQ(nearest_name("", kValid), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace scalebench
