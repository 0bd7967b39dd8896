// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// 1 GB/s between all hosts but for what `rate` says of a pair.
std::vector<Link> links_of(int hosts, const std::function<double(int from, int to)>& rate) {
  std::vector<Link> links;
  for (int from = 0; from < hosts; ++from) {
    for (int to = 0; to < hosts; ++to) {
      if (from != to) links.push_back({from, to, 1'000'000, 1e-3 / rate(from, to), 1e-5});
    }
  }
  return links;
}

std::vector<std::string> slow_hosts(const std::vector<Link>& links) {
  return describe_slow_hosts(judge_links(links), {"a", "b", "c", "d", "e", "f"});
}

TEST(Tournament, EveryPairMeetsOnceAndNobodyIsInTwoPairsAtATime) {
  for (int hosts = 1; hosts <= 17; ++hosts) {
    std::set<std::pair<int, int>> pairs;
    const std::vector<Round> rounds = tournament(hosts);
    EXPECT_LE(static_cast<int>(rounds.size()), hosts);
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const auto& [low, high] : round) {
        EXPECT_LT(low, high);
        EXPECT_LT(high, hosts);
        EXPECT_TRUE(busy.insert(low).second && busy.insert(high).second) << hosts;
        EXPECT_TRUE(pairs.emplace(low, high).second) << hosts;
      }
    }
    EXPECT_EQ(static_cast<int>(pairs.size()), hosts * (hosts - 1) / 2);
  }
}

TEST(LinkVerdict, NamesTheSlowHostAndNotItsPartners) {
  for (int hosts = 3; hosts <= 6; ++hosts) {
    for (int slow = 0; slow < hosts; ++slow) {
      const auto found = slow_hosts(links_of(
          hosts, [&](int from, int to) { return from == slow || to == slow ? 0.1 : 1.0; }));
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0], std::string("the link of ") + static_cast<char>('a' + slow) +
                              " is slow: it sends 0.1 GB/s, 10 % of what the other hosts do, and "
                              "receives 0.1 GB/s, 10 % of what the other hosts do");
    }
  }
}

TEST(LinkVerdict, KnowsTheDirection) {
  const auto found = slow_hosts(links_of(4, [](int, int to) { return to == 2 ? 0.5 : 1.0; }));
  EXPECT_THAT(found, ElementsAre("the link of c is slow: it receives 0.5 GB/s, 50 % of what the "
                                 "other hosts do"));
}

TEST(LinkVerdict, NamesSeveral) {
  const auto found =
      slow_hosts(links_of(5, [](int from, int to) { return std::max(from, to) > 2 ? 0.1 : 1.0; }));
  EXPECT_THAT(found, ElementsAre(HasSubstr("link of d"), HasSubstr("link of e")));
}

TEST(LinkVerdict, OnePairThatIsSlowIsNoSlowHost) {
  const auto slow = [](int from, int to) { return from + to == 1 ? 0.01 : 1.0; };
  EXPECT_THAT(slow_hosts(links_of(4, slow)), IsEmpty());
}

TEST(LinkVerdict, OfTwoHostsNobodyIsToBlame) {
  const std::vector<HostLink> hosts =
      judge_links(links_of(2, [](int from, int) { return from == 0 ? 1.0 : 0.1; }));
  ASSERT_EQ(hosts.size(), 4U);
  for (const HostLink& host : hosts) EXPECT_FALSE(host.relative);
  EXPECT_THAT(describe_slow_hosts(hosts, {"a", "b"}), IsEmpty());
}

TEST(LinkVerdict, KeepsTheFasterOfTwoProbes) {
  std::vector<Link> a = links_of(3, [](int, int) { return 1.0; });
  std::vector<Link> b = a;
  a[0].seconds *= 3;
  b[1].seconds *= 3;
  b[1].latency_seconds /= 2;
  const std::vector<Link> best = faster_of(a, b);
  for (const Link& link : best) EXPECT_DOUBLE_EQ(link.seconds, 1e-3);
  EXPECT_DOUBLE_EQ(best[1].latency_seconds, 5e-6);
}

}  // namespace
}  // namespace scalebench
