// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/side_by_side.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr const char* kPort = "7777";

/// A socket of the first address of `host` at which `use` succeeds. Not open: there is none, and
/// errno says why.
Descriptor socket_at(const std::string& host, bool (*use)(int socket, const addrinfo& address)) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const bool has_address = ::getaddrinfo(host.c_str(), kPort, &hints, &found) == 0;
  errno = EADDRNOTAVAIL;
  if (!has_address) return Descriptor();
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Descriptor made(::socket(one->ai_family, SOCK_STREAM, one->ai_protocol));
    if (use(made.number(), *one)) return made;
  }
  return Descriptor();
}

bool connects(int socket, const addrinfo& address) {
  const timeval patience{5, 0};  // with a host that does not answer
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return ::connect(socket, address.ai_addr, address.ai_addrlen) == 0;
}

bool listens(int socket, const addrinfo& address) {
  const int reuse = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  return ::bind(socket, address.ai_addr, address.ai_addrlen) == 0 &&
         ::listen(socket, SOMAXCONN) == 0;
}

}  // namespace

std::string part_of(const ProcessPlace& place) {
  if (place.is_first) return fmt::format("{}: {} starts the ranks of all", place.source, place.own);
  if (!place.must_stay) {
    return fmt::format("{}: {} ends here: {} starts the ranks of all", place.source, place.own,
                       place.first);
  }
  return fmt::format("{}: {} waits until {}, which starts the ranks of all, has closed its port {}",
                     place.source, place.own, place.first, kPort);
}

Descriptor port_for_others(const ProcessPlace& first) {
  if (!first.must_stay) return Descriptor();
  Descriptor port = socket_at(first.own, &listens);
  if (port.is_open()) return port;
  fail<UsageError>("{}: port {} of {} cannot be opened, for which the others wait: {}",
                   first.source, kPort, first.own, std::strerror(errno));
}

void stay_for_first(const ProcessPlace& place, int patience_seconds) {
  if (!place.must_stay) return;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(patience_seconds);
  Descriptor connection;
  while (!(connection = socket_at(place.first, &connects)).is_open()) {
    if (Clock::now() > deadline) {
      fail("{}: {} has not opened its port {} within {} s", place.source, place.first, kPort,
           patience_seconds);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  // A host that is gone closes nothing: after a minute without an answer the wait is over.
  constexpr int kAlive = 1, kSeconds = 15, kTimes = 4;
  ::setsockopt(connection.number(), SOL_SOCKET, SO_KEEPALIVE, &kAlive, sizeof kAlive);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPIDLE, &kSeconds, sizeof kSeconds);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPINTVL, &kSeconds, sizeof kSeconds);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPCNT, &kTimes, sizeof kTimes);
  pollfd end{connection.number(), POLLIN, 0};  // nothing is ever sent: what comes is the end
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace scalebench
