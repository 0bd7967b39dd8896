// SPDX-License-Identifier: Apache-2.0
// What the simulator is given: links, trees, placements; and what a ring must then take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "bench/study/simulation/simulation.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::Not;

Platform platform() {
  return {.name = "p3.8xlarge",
          .nodes = 16,
          .ranks_per_node = 4,
          .between = {1.25e9, 5e-5, "the catalog"},
          .within = {1e11, 2e-6, "--within"}};
}

std::map<std::string, int> ranks_of_nodes(const std::string& lines) {
  std::map<std::string, int> ranks;
  std::istringstream stream(lines);
  for (std::string node; std::getline(stream, node);) ++ranks[node];
  return ranks;
}

TEST(Platform, GivesEachOfTwoLinksHalfOfTheLatency) {
  const std::string xml = platform_xml(platform());
  EXPECT_THAT(xml, HasSubstr(R"(radical="0-15")"));
  EXPECT_THAT(xml, HasSubstr(R"(bw="1250000000Bps" lat="2.5e-05s")"));
  EXPECT_THAT(xml, HasSubstr(R"(loopback_bw="100000000000Bps" loopback_lat="2e-06s")"));
  EXPECT_THAT(xml, Not(HasSubstr("FAT_TREE")));
}

TEST(Platform, CommentsHoldNoTwoHyphens) {
  Platform odd = platform();
  odd.name = "a--b";
  const std::string xml = platform_xml(odd);
  EXPECT_THAT(xml, HasSubstr("a__b"));
  EXPECT_THAT(xml, HasSubstr("__within"));
}

TEST(Platform, TreeHasAnUplinkForEachGroupOfNodes) {
  Platform tree = platform();
  tree.tree = {8, 4};
  require_valid(tree);
  EXPECT_THAT(platform_xml(tree), HasSubstr(R"(topo_parameters="2;8,2;1,2;1,1")"));
  tree.tree = {8, 3};
  EXPECT_THROW(require_valid(tree), UsageError);
  tree.tree = {5, 5};
  EXPECT_THROW(require_valid(tree), UsageError);
  tree.tree = {16, 4};
  EXPECT_THROW(require_valid(tree), UsageError);
  tree.tree = {8, 0};
  EXPECT_THROW(require_valid(tree), UsageError);
}

TEST(Platform, ShufflesNodesAndKeepsTheirRanksTogether) {
  Platform shuffled = platform();
  const std::string ordered = host_lines(shuffled);
  shuffled.placement = RankPlacement::shuffled;
  const std::string lines = host_lines(shuffled);
  EXPECT_NE(lines, ordered);
  EXPECT_EQ(lines, host_lines(shuffled));
  EXPECT_EQ(ranks_of_nodes(lines), ranks_of_nodes(ordered));
  EXPECT_EQ(ranks_of_nodes(lines).at("node7"), 4);
  const std::size_t first = lines.find("node7\n");
  EXPECT_EQ(lines.substr(first, 24), "node7\nnode7\nnode7\nnode7\n");
  shuffled.seed = 2;
  EXPECT_NE(lines, host_lines(shuffled));
}

TEST(Platform, ReadsTheRateOfOneGpuInOneDirection) {
  EXPECT_EQ(interconnect_rate("NVLink 2.0 (AWS: 200 GB/s total per GPU)"), 100e9);
  EXPECT_EQ(interconnect_rate("NVSwitch/NVLink3 600 GB/s per GPU; EFA"), 300e9);
  EXPECT_EQ(interconnect_rate("PCIe with GPU peer-to-peer"), std::nullopt);
  EXPECT_EQ(interconnect_rate("NVSwitch/NVLink3; 8x200 Gb/s HDR InfiniBand"), std::nullopt);
  EXPECT_EQ(interconnect_rate(""), std::nullopt);
}

TEST(RingSeconds, IsGovernedByTheSlowestLink) {
  Platform one = platform();
  // 2 * 63 steps of 16 KiB over 1.25 GB/s with 50 us, and 63 reductions of 16 KiB.
  const double chunk = 16384;
  EXPECT_DOUBLE_EQ(*ring_seconds(one, 1 << 20, 1e-10),
                   2 * 63 * (5e-5 + chunk / 1.25e9) + 63 * chunk * 1e-10);
  one.nodes = 1;
  EXPECT_DOUBLE_EQ(*ring_seconds(one, 1 << 20, 0), 2 * 3 * (2e-6 + (1 << 18) / 1e11));
  one.ranks_per_node = 1;
  EXPECT_EQ(ring_seconds(one, 1 << 20, 0), 0);
  // The last of 64 chunks, which are cache lines, would be empty, and nobody waits for it.
  EXPECT_EQ(ring_seconds(platform(), 63 * 64, 0), std::nullopt);
  EXPECT_NE(ring_seconds(platform(), 63 * 64 + 4, 0), std::nullopt);
  one.tree = {4, 2};
  EXPECT_EQ(ring_seconds(one, 1 << 20, 0), std::nullopt);
}

}  // namespace
}  // namespace scalebench
