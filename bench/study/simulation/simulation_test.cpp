// SPDX-License-Identifier: Apache-2.0
// What the simulator is given.
#include "bench/study/simulation/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::Not;

const SimulatedAllreduce kOf{"ring", 64, 16, {1.25e9, 5e-5}, {1e11, 2e-6}};

TEST(Platform, GivesEachOfTwoLinksHalfOfTheLatency) {
  const std::string xml = platform_xml(kOf, std::nullopt);
  EXPECT_THAT(xml, HasSubstr(R"(radical="0-15")"));
  EXPECT_THAT(xml, HasSubstr(R"(bw="1250000000Bps" lat="2.5e-05s")"));
  EXPECT_THAT(xml, HasSubstr(R"(loopback_bw="100000000000Bps" loopback_lat="2e-06s")"));
  EXPECT_THAT(xml, Not(HasSubstr("FAT_TREE")));
}

TEST(Platform, TreeHasAnUplinkForEachGroupOfNodesAndSwitchesForAll) {
  const auto tree = tree_of("fat_tree:8:4");
  EXPECT_THAT(platform_xml(kOf, tree), HasSubstr(R"(topo_parameters="2;8,2;1,2;1,1")"));
  SimulatedAllreduce more = kOf;
  more.nodes = 17;
  const std::string xml = platform_xml(more, tree);
  EXPECT_THAT(xml, HasSubstr(R"(topo_parameters="2;8,3;1,2;1,1")"));
  EXPECT_THAT(xml, HasSubstr(R"(radical="0-23")"));
  more.nodes = 8;
  EXPECT_THAT(platform_xml(more, tree), Not(HasSubstr("FAT_TREE"))) << "one switch";
  EXPECT_EQ(tree_of("flat").has_value(), false);
  for (const char* const words : {"fat_tree:8:3", "fat_tree:8:0", "fat_tree:8", "torus"}) {
    EXPECT_THROW(tree_of(words), UsageError) << words;
  }
}

}  // namespace
}  // namespace scalebench
