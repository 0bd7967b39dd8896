// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

constexpr double kPatience = 120;  // seconds: a thread may long wait for its turn on a busy core

/// The first half of link_to_first_rank().
WatchdogInvitation be_invited(Communicator& host) {
  all_gather(host, own_host_name());
  all_gather(host, own_place());
  WatchdogInvitation invited;
  broadcast_bytes(host, std::as_writable_bytes(std::span(&invited, 1)), 0);
  return invited;
}

/// Where the ranks of one process find rank 0.
const sockaddr_in& door_of(const WatchdogInvitation& invited) {
  EXPECT_EQ(invited.count, 1U);
  EXPECT_EQ(invited.addresses[0].ss_family, AF_INET);
  return reinterpret_cast<const sockaddr_in&>(invited.addresses[0]);
}

/// The second half.
void be_linked(Communicator& host) {
  std::vector<double> linked = all_gather(host, 1.0);
  broadcast(host, span_of(std::span(linked)), 0);
}

/// Closed where nobody listens.
WatchdogLink visit(const sockaddr_in& there) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const at = reinterpret_cast<const sockaddr*>(&there);
  const bool came = connect(fd.number(), at, sizeof(there)) == 0;
  return came ? WatchdogLink(std::move(fd)) : WatchdogLink();
}

/// A connection to rank 0 that says which rank it comes from.
WatchdogLink report(const WatchdogInvitation& invited, int rank) {
  WatchdogLink link = visit(door_of(invited));
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
      const WatchdogInvitation invited = be_invited(host);
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
void meet(const std::function<void(const WatchdogInvitation&)>& meanwhile) {
  run_ranks(2, [&](Communicator& host) {
    if (host.rank() == 0) {
      const WatchdogLinks links = link_to_first_rank(host, kPatience);
      ASSERT_EQ(links.links.size(), 2U);
      EXPECT_TRUE(links.links[1].open());
      return host.barrier();
    }
    const WatchdogInvitation invited = be_invited(host);
    meanwhile(invited);
    WatchdogLink mine = report(invited, 1);
    EXPECT_TRUE(is_answered(mine));
    be_linked(host);
    host.barrier();
  });
}

TEST(WatchdogLink, OfRanksThatShareALoopbackNobodyElseFindsTheDoor) {
  meet([](const WatchdogInvitation& invited) {
    sockaddr_in there = door_of(invited);
    EXPECT_EQ(ntohl(there.sin_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_TRUE(visit(there).open());
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_FALSE(visit(there).open()) << "listens on more than it needs";
  });
}

TEST(WatchdogLink, WhoSaysSomethingElseIsSentAway) {
  meet([](const WatchdogInvitation& invited) {
    WatchdogInvitation other = invited;
    ++other.token;
    WatchdogLink stranger = report(other, 1);
    EXPECT_TRUE(is_sent_away(stranger));
    WatchdogLink nobody = report(invited, 2);
    EXPECT_TRUE(is_sent_away(nobody));
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
