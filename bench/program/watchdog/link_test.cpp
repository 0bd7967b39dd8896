// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/thread.hpp"

namespace scalebench {
namespace {

/// A connection to rank 0 that says which rank it comes from.
WatchdogLink report(std::uint64_t token, int port, int rank) {
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  WatchdogLink link(std::move(fd));
  WatchdogMessage hello;
  hello.token = token;
  hello.kind = WatchdogMessage::Kind::hello;
  hello.rank = rank;
  link.send(hello);
  return link;
}

bool is_answered(WatchdogLink& link) {
  pollfd one{link.fd(), POLLIN, 0};
  return poll(&one, 1, 60'000) == 1 && !link.receive().empty();
}

TEST(WatchdogLink, ARankThatReportsTwiceTakesNobodysPlace) {
  std::atomic<bool> reported_twice = false;
  run_ranks(3, [&](Communicator& host) {
    WatchdogLinks links;
    std::vector<WatchdogLink> mine;
    if (host.rank() == 0) {
      links = link_to_first_rank(host);
    } else {
      // As link_to_first_rank() does, but for one report too many.
      all_gather(host, own_host_name());
      std::istringstream invitation(all_gather(host, std::string())[0]);
      std::uint64_t token = 0;
      int port = 0;
      invitation >> token >> port;
      while (host.rank() == 2 && !reported_twice) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      mine.push_back(report(token, port, host.rank()));
      EXPECT_TRUE(is_answered(mine.back())) << "rank " << host.rank();
      if (host.rank() == 1) {
        mine.push_back(report(token, port, 1));
        reported_twice = true;
      }
      all_gather(host, std::vector<double>(3, 1));
    }
    host.barrier();
    if (host.rank() != 0) return;
    ASSERT_EQ(links.links.size(), 3U);
    EXPECT_TRUE(links.links[1].open());
    EXPECT_TRUE(links.links[2].open());
  });
}

}  // namespace
}  // namespace scalebench
