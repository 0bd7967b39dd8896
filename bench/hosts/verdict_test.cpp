// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace scalebench {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kMessages = 40;

/// What is between hosts of 1 GB/s, and what each computes in 0.4 s, but for what is changed.
struct Hosts {
  explicit Hosts(int hosts) : compute(static_cast<std::size_t>(hosts), 0.4) {
    for (int from = 0; from < hosts; ++from) {
      for (int to = 0; to < hosts; ++to) {
        if (from != to) links.push_back(healthy(from, to));
      }
    }
  }
  static Link healthy(int from, int to) {
    Link link{.from = from, .to = to, .bytes = 1'000'000, .seconds = 1e-3};
    link.latency_seconds = link.tail_seconds = 1e-5;
    link.messages = kMessages;
    link.retransmits = 0;
    return link;
  }
  Hosts& rates(const std::function<double(int from, int to)>& rate) {
    for (Link& link : links) link.seconds = 1e-3 / rate(link.from, link.to);
    return *this;
  }
  Hosts& losses(const std::function<int(int from, int to)>& lost) {
    for (Link& link : links) {
      link.late = lost(link.from, link.to);
      link.retransmits = link.late;
      if (link.late > 0) link.tail_seconds = 0.42;
    }
    return *this;
  }
  Hosts& processor(int host, double seconds) {
    compute.at(static_cast<std::size_t>(host)) = seconds;
    return *this;
  }

  Verdicts verdicts() const { return judge_hosts(links, compute, {"a", "b", "c", "d", "e", "f"}); }
  /// "2 link 3 loss", by number.
  std::string named() const {
    std::string text;
    const std::vector<HostVerdict> hosts = verdicts().hosts;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i].verdict != "none") text += std::to_string(i) + " " + hosts[i].verdict + " ";
    }
    return text;
  }
  bool doubted() const { return verdicts().in_doubt; }
  std::string why(int host) const {
    return verdicts().hosts.at(static_cast<std::size_t>(host)).why;
  }
  std::string pairs() const {
    std::string text;
    for (const std::string& note : verdicts().of_links) {
      if (!note.empty()) text += (text.empty() ? "" : "; ") + note;
    }
    return text;
  }

  std::vector<Link> links;
  std::vector<double> compute;
};

/// Of a host: what involves it, else what does not.
auto with(int host, double those, double others) {
  return [=](int from, int to) { return from == host || to == host ? those : others; };
}
auto lost_with(int host, int those) {
  return [=](int from, int to) { return from == host || to == host ? those : 0; };
}

TEST(Verdict, NamesNobodyAmongEquals) {
  for (int hosts = 2; hosts <= 6; ++hosts) {
    EXPECT_EQ(Hosts(hosts).named(), "");
    EXPECT_EQ(Hosts(hosts).pairs(), "");
    EXPECT_FALSE(Hosts(hosts).doubted());
  }
  EXPECT_THAT(Hosts(1).verdicts().hosts, IsEmpty());
}

TEST(Verdict, NamesTheSlowLinkAndNotItsPartners) {
  for (int hosts = 3; hosts <= 6; ++hosts) {
    for (int slow = 0; slow < hosts; ++slow) {
      const Hosts found = Hosts(hosts).rates(with(slow, 0.1, 1.0));
      EXPECT_EQ(found.named(), std::to_string(slow) + " link ");
      EXPECT_EQ(found.why(slow),
                "its link sends 10 % and receives 10 % of the others' median (look at cable, port, "
                "driver)");
      EXPECT_TRUE(found.doubted());
    }
  }
}

TEST(Verdict, KnowsTheDirectionOfALink) {
  const Hosts found = Hosts(4).rates([](int, int to) { return to == 2 ? 0.5 : 1.0; });
  EXPECT_EQ(found.named(), "2 link ");
  EXPECT_THAT(found.why(2), HasSubstr("its link receives 50 % of the others' median"));
}

TEST(Verdict, NamesSeveral) {
  EXPECT_EQ(
      Hosts(5).rates([](int from, int to) { return std::max(from, to) > 2 ? 0.1 : 1.0; }).named(),
      "3 link 4 link ");
  EXPECT_EQ(Hosts(6).processor(1, 0.8).losses(lost_with(4, 3)).named(), "1 processor 4 loss ");
}

TEST(Verdict, NamesTheSlowProcessorAlsoOfTwo) {
  for (int hosts = 2; hosts <= 6; ++hosts) {
    const Hosts found = Hosts(hosts).processor(1, 0.8);
    EXPECT_EQ(found.named(), "1 processor ");
    EXPECT_THAT(found.why(1), HasSubstr("its processor runs at 50 % of the others' median"));
    EXPECT_TRUE(found.doubted());
  }
}

TEST(Verdict, ARankThatIsStoppedSendsSlowlyToo) {
  EXPECT_EQ(Hosts(4).processor(2, 0.8).rates(with(2, 0.5, 1.0)).named(), "2 processor ");
  EXPECT_EQ(Hosts(4).processor(2, 0.8).losses(lost_with(2, 5)).named(), "2 processor ");
}

TEST(Verdict, NamesTheHostWhoseMessagesGetLost) {
  for (int hosts = 3; hosts <= 6; ++hosts) {
    for (int bad = 0; bad < hosts; ++bad) {
      const Hosts found = Hosts(hosts).losses(lost_with(bad, 2));
      EXPECT_EQ(found.named(), std::to_string(bad) + " loss ");
      EXPECT_THAT(found.why(bad), AllOf(HasSubstr("messages to and from it are lost or late"),
                                        HasSubstr("after 420 ms")));
    }
  }
}

TEST(Verdict, OfTwoHostsThatLoseMessagesTheMuchWorseOneIsNamed) {
  const auto losses = [](int worse, int other) {
    return [=](int from, int to) {
      return std::min(from, to) == 0 ? worse : std::min(from, to) == 1 ? other : 0;
    };
  };
  const Hosts found = Hosts(6).losses(losses(8, 2));
  EXPECT_EQ(found.named(), "0 loss ");
  EXPECT_THAT(found.pairs(), HasSubstr("between b and c are lost")) << "of the other";
  EXPECT_EQ(Hosts(6).losses(losses(2, 2)).named(), "") << "who is it?";
  EXPECT_THAT(Hosts(6).losses(losses(2, 2)).pairs(), HasSubstr("between a and b are lost"));
}

TEST(Verdict, ALinkThatLosesMessagesIsSlowToo) {
  const Hosts found = Hosts(4).losses(lost_with(3, 2)).rates(with(3, 0.4, 1.0));
  EXPECT_EQ(found.named(), "3 loss ");
}

TEST(Verdict, WhatIsLostEverywhereIsNobodysFault) {
  EXPECT_EQ(Hosts(4).losses([](int, int) { return 2; }).named(), "");
}

TEST(Verdict, FewLossesAreChance) {
  const Hosts found = Hosts(4).losses([](int from, int to) { return from == 1 && to > 1 ? 1 : 0; });
  EXPECT_EQ(found.named(), "");
  EXPECT_TRUE(found.doubted()) << "but worth a second look";
}

TEST(Verdict, LateAnswersOfABusyHostAreNotLost) {
  Hosts found = Hosts(4).losses(lost_with(1, 10));
  for (Link& link : found.links) link.retransmits = 0;
  EXPECT_EQ(found.named(), "");
  // Where nobody counts, lateness is all there is.
  for (Link& link : found.links) link.retransmits = std::nan("");
  EXPECT_EQ(found.named(), "1 loss ");
  EXPECT_THAT(found.why(1), HasSubstr("does not count"));
}

TEST(Verdict, APairThatLosesOrIsSlowIsNoHost) {
  const auto between = [](int from, int to) { return from + to == 1; };
  const Hosts lossy = Hosts(4).losses([&](int a, int b) { return between(a, b) ? 5 : 0; });
  EXPECT_EQ(lossy.named(), "");
  EXPECT_EQ(lossy.pairs(), "messages between a and b are lost or late: 10 of 80");
  const Hosts slow =
      Hosts(4).rates([](int from, int to) { return from == 3 && to == 2 ? 0.48 : 1; });
  EXPECT_EQ(slow.named(), "");
  EXPECT_EQ(slow.pairs(), "d sends to c at 48 % of the median of all pairs");
  EXPECT_TRUE(slow.doubted());
  EXPECT_EQ(Hosts(4).rates(with(2, 0.1, 1.0)).pairs(), "") << "the host is named already";
}

TEST(Verdict, OfTwoHostsNeitherLinkIsToBlame) {
  const Hosts found =
      Hosts(2).rates([](int from, int) { return from == 0 ? 1.0 : 0.1; }).losses([](int, int) {
        return 4;
      });
  EXPECT_EQ(found.named(), "");
  for (const HostVerdict& one : found.verdicts().hosts) {
    EXPECT_TRUE(std::isnan(one.send_relative));
    EXPECT_TRUE(std::isnan(one.receive_relative));
    EXPECT_DOUBLE_EQ(one.compute_relative, 1);
  }
  EXPECT_EQ(found.pairs(), "messages between a and b are lost or late: 8 of 80");
}

TEST(Verdict, ContradictoryLooksAreJudgedByTheBetterTimes) {
  // Slow in the first look, and as fast as the others in the second: a moment's disturbance.
  Hosts first = Hosts(4).rates(with(1, 0.3, 1.0)), second = Hosts(4);
  first.links = merged(first.links, second.links);
  EXPECT_EQ(first.named(), "");
  // What is lost stays lost.
  first = Hosts(4).losses(lost_with(1, 1));
  first.links = merged(first.links, Hosts(4).losses(lost_with(1, 1)).links);
  EXPECT_EQ(first.named(), "1 loss ");
}

}  // namespace
}  // namespace scalebench
