// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

constexpr double kPatience = 120;  // seconds: a thread may long wait for its turn on a busy core

struct Invited {
  std::uint64_t token = 0;
  std::string address;  // of the first door
  int port = 0;
};

/// The first half of link_to_first_rank().
Invited be_invited(Communicator& host) {
  all_gather(host, own_host_name());
  all_gather(host, own_place());
  std::istringstream text(broadcast_text(host, std::string(), 0));
  Invited invited;
  text >> invited.token >> invited.port >> invited.address;
  return invited;
}

/// The second half.
void be_linked(Communicator& host) {
  std::vector<double> linked = all_gather(host, 1.0);
  broadcast(host, span_of(std::span(linked)), 0);
}

/// Closed where nobody listens.
WatchdogLink visit(const char* address, int port) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address, &there.sin_addr);
  const bool came = connect(fd.number(), reinterpret_cast<sockaddr*>(&there), sizeof(there)) == 0;
  return came ? WatchdogLink(std::move(fd)) : WatchdogLink();
}

/// A connection to rank 0 that says which rank it comes from.
WatchdogLink report(const Invited& invited, int rank) {
  WatchdogLink link = visit(invited.address.c_str(), invited.port);
  EXPECT_TRUE(link.open());
  WatchdogMessage hello;
  hello.token = invited.token;
  hello.kind = WatchdogMessage::Kind::hello;
  hello.rank = rank;
  link.send(hello);
  return link;
}

bool is_answered(WatchdogLink& link) {
  pollfd one{link.fd(), POLLIN, 0};
  return poll(&one, 1, 60'000) == 1 && !link.receive().empty();
}

bool is_sent_away(WatchdogLink& link) {
  pollfd one{link.fd(), POLLRDHUP, 0};
  return poll(&one, 1, 60'000) == 1;
}

TEST(WatchdogLink, ARankThatReportsTwiceTakesNobodysPlace) {
  std::atomic<bool> reported_twice = false;
  run_ranks(3, [&](Communicator& host) {
    WatchdogLinks links;
    std::vector<WatchdogLink> mine;
    if (host.rank() == 0) {
      links = link_to_first_rank(host, kPatience);
    } else {
      // As link_to_first_rank() does, but for one report too many.
      const Invited invited = be_invited(host);
      while (host.rank() == 2 && !reported_twice) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      mine.push_back(report(invited, host.rank()));
      EXPECT_TRUE(is_answered(mine.back())) << "rank " << host.rank();
      if (host.rank() == 1) {
        mine.push_back(report(invited, 1));
        reported_twice = true;
      }
      be_linked(host);
    }
    host.barrier();
    if (host.rank() != 0) return;
    ASSERT_EQ(links.links.size(), 3U);
    EXPECT_TRUE(links.links[1].open());
    EXPECT_TRUE(links.links[2].open());
  });
}

/// What rank 1 of two does between its invitation and its report; rank 0 is linked with it.
void meet(const std::function<void(const Invited&)>& meanwhile) {
  run_ranks(2, [&](Communicator& host) {
    if (host.rank() == 0) {
      const WatchdogLinks links = link_to_first_rank(host, kPatience);
      ASSERT_EQ(links.links.size(), 2U);
      EXPECT_TRUE(links.links[1].open());
      return host.barrier();
    }
    const Invited invited = be_invited(host);
    meanwhile(invited);
    WatchdogLink mine = report(invited, 1);
    EXPECT_TRUE(is_answered(mine));
    be_linked(host);
    host.barrier();
  });
}

TEST(WatchdogLink, OfRanksThatShareALoopbackNobodyElseFindsTheDoor) {
  meet([](const Invited& invited) {
    EXPECT_EQ(invited.address, "127.0.0.1");
    EXPECT_TRUE(visit("127.0.0.1", invited.port).open());
    EXPECT_FALSE(visit("127.0.0.2", invited.port).open()) << "listens on more than it needs";
  });
}

TEST(WatchdogLink, WhoSaysSomethingElseIsSentAway) {
  meet([](const Invited& invited) {
    WatchdogLink stranger = report({invited.token + 1, invited.address, invited.port}, 1);
    EXPECT_TRUE(is_sent_away(stranger));
    WatchdogLink nobody = report(invited, 2);
    EXPECT_TRUE(is_sent_away(nobody));
  });
}

TEST(WatchdogLink, StrangersWhoSayNothingMakeRoom) {
  meet([](const Invited& invited) {
    std::vector<WatchdogLink> strangers;
    for (int i = 0; i < 40; ++i) strangers.push_back(visit("127.0.0.1", invited.port));
    EXPECT_TRUE(is_sent_away(strangers.front()));
  });
}

TEST(WatchdogLink, ManyRanksAreLetInWhereFewFilesMayBeOpen) {
  // All of them are threads of this process: two descriptors a link.
  constexpr int kRanks = 100;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Where the system allows no more, there is nothing to raise.
  if (before.rlim_max < 1024) GTEST_SKIP() << "no more than " << before.rlim_max << " are allowed";
  const rlimit few{50, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::atomic<int> linked = 0;
  run_ranks(kRanks, [&](Communicator& host) {
    const WatchdogLinks links = link_to_first_rank(host, kPatience);
    for (const WatchdogLink& link : links.links) linked += link.open() ? 1 : 0;
    host.barrier();
  });
  EXPECT_EQ(linked, 2 * (kRanks - 1));
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace scalebench
