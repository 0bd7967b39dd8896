// SPDX-License-Identifier: Apache-2.0
#include "bench/record/columns.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(Joules, AreOfAllCardsOfARow) {
  ResultRow row(throughput_schema());
  row.set("ranks", 2).set("rank", "all").set("images_per_s", 1000.0);
  set_joules(row);
  EXPECT_EQ(row.get("gpu_joules_per_image"), "") << "no card";
  row.set("gpu_watts", 500.0);
  set_joules(row);
  EXPECT_EQ(row.get("gpu_joules_per_image"), "1");
  row.set("rank", 1);
  set_joules(row);
  EXPECT_EQ(row.get("gpu_joules_per_image"), "0.5");
  ResultRow shared(throughput_schema());
  shared.set("origin", "emulated").set("ranks", 2).set("rank", "all").set("gpu_watts", 500.0);
  set_joules(shared.set("images_per_s", 1000.0));
  EXPECT_EQ(shared.get("gpu_joules_per_image"), "") << "one card may be both ranks'";
}

}  // namespace
}  // namespace scalebench
