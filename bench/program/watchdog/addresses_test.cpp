// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/addresses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scalebench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<NetworkAddress> kMine{{"203.0.113.7", "255.255.255.0"},
                                        {"172.17.0.1", "255.255.0.0"},
                                        {"10.1.0.1", "255.255.0.0"},
                                        {"fd00::1", "ffff:ffff:ffff:ffff::"}};
constexpr const char* kHere = "boot net 203.0.113.7 172.17.0.1 10.1.0.1 fd00::1";

/// Where rank 0 listens for ranks at `others`, a route to each of which leads from "route".
std::vector<std::string> needed_for(std::vector<std::string> others) {
  others.insert(others.begin(), kHere);
  return needed_addresses(kMine, others, [](const std::string&) { return "route"; });
}

TEST(NeededAddresses, OfOneHostAreLoopback) {
  EXPECT_THAT(needed_for({kHere, kHere}), ElementsAre("127.0.0.1", "::1"));
}

TEST(NeededAddresses, AreThoseOfNetworksThatBothAreIn) {
  EXPECT_THAT(needed_for({"other net 198.51.100.9 172.17.0.1 10.1.3.9"}), ElementsAre("10.1.0.1"));
  EXPECT_THAT(needed_for({"other net fd00::9"}), ElementsAre("fd00::1"));
  EXPECT_THAT(needed_for({kHere, "other net 10.1.3.9", "third net 10.1.3.10"}),
              ElementsAre("127.0.0.1", "::1", "10.1.0.1"));
}

TEST(NeededAddresses, OfAnotherNetworkAreWhereTheRouteLeads) {
  EXPECT_THAT(needed_for({"other net 192.0.2.9 172.17.0.1"}), ElementsAre("route"));
  EXPECT_THAT(needed_for({"other net"}), IsEmpty());
}

TEST(NeededAddresses, TheRouteToTheLoopbackIsTheLoopback) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_towards("no number"), "");
}

TEST(OwnPlace, IsTheSameForAllOfOneNamespace) {
  EXPECT_EQ(own_place(), own_place());
  EXPECT_THAT(own_place(), Not(IsEmpty()));
}

}  // namespace
}  // namespace scalebench
