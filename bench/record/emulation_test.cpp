// SPDX-License-Identifier: Apache-2.0
#include "bench/record/emulation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace scalebench {
namespace {

TEST(Emulation, IsDeclaredOrFollowsFromCrowding) {
  unsetenv("SCALEBENCH_EMULATED");
  EXPECT_EQ(timed_origin(/*crowded=*/false), "measured");
  EXPECT_EQ(timed_origin(/*crowded=*/true), "emulated");
  setenv("SCALEBENCH_EMULATED", "", 1);
  EXPECT_EQ(timed_origin(/*crowded=*/false), "measured") << "an empty declaration is none";
  setenv("SCALEBENCH_EMULATED", "4 hosts in network namespaces, 1gbit", 1);
  EXPECT_EQ(declared_emulation(), "4 hosts in network namespaces, 1gbit");
  EXPECT_EQ(emulation_line(), "# EMULATED: 4 hosts in network namespaces, 1gbit\n");
  EXPECT_EQ(timed_origin(/*crowded=*/false), "emulated");
  unsetenv("SCALEBENCH_EMULATED");
}

}  // namespace
}  // namespace scalebench
