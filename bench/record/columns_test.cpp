// SPDX-License-Identifier: Apache-2.0
#include "bench/record/columns.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(Utilisation, IsModelFlopsOverPeak) {
  ResultRow row(throughput_schema());
  row.set("gflop_per_image", 24.5).set("images_per_s", 1000.0);
  row.set("roofline_gflop_per_s", 49000.0);
  set_utilisation(row);
  EXPECT_EQ(row.get("mfu"), "0.5");
  EXPECT_EQ(row.get("mfu_published"), "") << "no such peak is known";
  row.set("images_per_s", "");
  set_utilisation(row);
  EXPECT_EQ(row.get("mfu"), "");
}

}  // namespace
}  // namespace scalebench
