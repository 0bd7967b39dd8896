// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "bench/cli/stderr.hpp"
#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

static_assert(std::is_trivially_copyable_v<WatchdogMessage> &&
              std::is_trivially_copyable_v<WatchdogInvitation>);

constexpr double kLastSeconds = 1;  // in which rank 0 still waits, so as not to give up first

int milliseconds(double seconds) {
  return static_cast<int>(std::ceil(1e3 * std::clamp(seconds, 0.0, 1e6)));
}

Descriptor tcp_socket(int family) {
  return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// In network order, whatever the family.
in_port_t& port_of(sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

/// Whether a process in another place may come to it: it is not of a loopback or of one link only.
bool is_reachable(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_LINKLOCAL(&six);
  }
  const in_addr& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  return address.sa_family == AF_INET && ntohl(four.s_addr) >> 24U != IN_LOOPBACKNET;
}

/// Adds the addresses of all interfaces that are up.
void add_own_addresses(WatchdogInvitation& invitation) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    if (!is_reachable(*one->ifa_addr) || invitation.count == invitation.addresses.size()) continue;
    const bool is_six = one->ifa_addr->sa_family == AF_INET6;
    std::memcpy(&invitation.addresses[invitation.count++], one->ifa_addr,
                is_six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  }
}

/// Listens on a port of the system's choice, which `address` then has; not open where that cannot
/// be.
Descriptor listen_at(sockaddr_storage& address) {
  Descriptor fd = tcp_socket(address.ss_family);
  if (!fd.is_open()) return fd;
  const int both = 0;  // families, at "::"
  setsockopt(fd.number(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both));
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  const bool listens = bind(fd.number(), at, length) == 0 && listen(fd.number(), SOMAXCONN) == 0 &&
                       getsockname(fd.number(), at, &length) == 0;
  return listens ? std::move(fd) : Descriptor();
}

/// Opens a door on the loopback alone, or on all addresses, and invites to it.
Descriptor open_door(bool on_loopback, WatchdogInvitation& invitation) {
  sockaddr_storage at{};  // the family's "any"
  at.ss_family = on_loopback ? AF_INET : AF_INET6;
  if (on_loopback) {
    reinterpret_cast<sockaddr_in&>(at).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    invitation.addresses[invitation.count++] = at;
  } else {
    add_own_addresses(invitation);
  }
  Descriptor door = listen_at(at);
  if (!door.is_open() && !on_loopback) {
    at = {};
    at.ss_family = AF_INET;
    door = listen_at(at);
  }
  for (std::size_t i = 0; i < invitation.count; ++i) {
    port_of(invitation.addresses[i]) = port_of(at);
  }
  return door;
}

bool is_hello(const WatchdogMessage& message, std::uint64_t token) {
  return message.kind == WatchdogMessage::Kind::hello && message.token == token;
}

WatchdogMessage hello(std::uint64_t token, int rank) {
  WatchdogMessage message;
  message.token = token;
  message.kind = WatchdogMessage::Kind::hello;
  message.rank = rank;
  return message;
}

/// So many ranks and some more may be open at once, where the system lets a process ask for it:
/// 1 024 is what most begin with.
void allow_open_files(std::size_t ranks) {
  constexpr rlim_t kOthers = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t needed = std::min<rlim_t>(2 * ranks + kOthers, limit.rlim_max);
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = needed;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Accepts until every rank has come with the token, or time is up. Who says anything else is sent
/// away.
void accept_ranks(const Descriptor& door, std::uint64_t token, double deadline,
                  std::vector<WatchdogLink>& links) {
  std::vector<WatchdogLink> visitors;
  std::vector<bool> came(links.size());  // once, also where the connection has ended since
  std::size_t missing = links.size() - 1;
  while (missing > 0 && watchdog_seconds() < deadline) {
    std::vector<pollfd> waiting{{door.number(), POLLIN, 0}};
    for (const WatchdogLink& one : visitors) waiting.push_back({one.fd(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), milliseconds(deadline - watchdog_seconds()));
    for (WatchdogLink& one : visitors) {
      const std::vector<WatchdogMessage> messages = one.receive();
      if (messages.empty()) continue;
      const auto rank = static_cast<std::size_t>(messages.front().rank);
      const bool expected =
          is_hello(messages.front(), token) && rank > 0 && rank < links.size() && !came[rank];
      if (expected) {
        came[rank] = true;
        one.send(hello(token, 0));
        links[rank] = std::exchange(one, {});
        --missing;
      }
      one.close();
    }
    std::erase_if(visitors, [](const WatchdogLink& one) { return !one.open(); });
    while (waiting[0].revents != 0) {
      Descriptor fd(accept4(door.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.is_open()) break;
      visitors.emplace_back(std::move(fd));
    }
  }
}

/// The first of rank 0's addresses that answers with the token. All are tried at once: one behind a
/// firewall swallows all time that it is given.
WatchdogLink connect_to(const WatchdogInvitation& invitation, int rank, double deadline) {
  std::vector<WatchdogLink> tries;
  for (std::size_t i = 0; i < invitation.count; ++i) {
    const sockaddr_storage& address = invitation.addresses[i];
    Descriptor fd = tcp_socket(address.ss_family);
    if (!fd.is_open()) continue;
    const int refused =
        connect(fd.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (refused == 0 || errno == EINPROGRESS) tries.emplace_back(std::move(fd));
  }
  std::vector<bool> greeted(tries.size());
  while (watchdog_seconds() < deadline) {
    std::vector<pollfd> waiting;
    for (std::size_t i = 0; i < tries.size(); ++i) {
      waiting.push_back({tries[i].fd(), static_cast<short>(greeted[i] ? POLLIN : POLLOUT), 0});
    }
    poll(waiting.data(), waiting.size(), milliseconds(deadline - watchdog_seconds()));
    for (std::size_t i = 0; i < tries.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      if (!greeted[i]) tries[i].send(hello(invitation.token, rank));
      greeted[i] = true;
      for (const WatchdogMessage& message : tries[i].receive()) {
        if (is_hello(message, invitation.token)) return std::move(tries[i]);
      }
    }
    if (std::ranges::none_of(tries, &WatchdogLink::open)) break;
  }
  return {};
}

}  // namespace

WatchdogLink::WatchdogLink(Descriptor fd) : fd_(std::move(fd)) {
  // A message that waits for the acknowledgement of the last one dies with its process, and it may
  // be the one that says where that was.
  const int at_once = 1;
  setsockopt(fd_.number(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
}

void WatchdogLink::send(const WatchdogMessage& message) {
  constexpr std::size_t kMostPending = 64 * sizeof(WatchdogMessage);
  if (!open() || out_.size() >= kMostPending) return;
  out_.append(reinterpret_cast<const char*>(&message), sizeof(message));
  flush();
}

void WatchdogLink::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // full, or closed by the other side, which receive() finds
    out_.erase(0, static_cast<std::size_t>(sent));
  }
}

std::vector<WatchdogMessage> WatchdogLink::receive() {
  // Whoever sends without end does not keep this from others.
  constexpr int kMostPieces = 16;
  std::array<char, 4096> piece{};
  for (int i = 0; i < kMostPieces && open(); ++i) {
    const ssize_t got = recv(fd(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      in_.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else {
      close();
    }
  }
  std::vector<WatchdogMessage> messages(in_.size() / sizeof(WatchdogMessage));
  const std::size_t bytes = messages.size() * sizeof(WatchdogMessage);
  if (bytes > 0) std::memcpy(messages.data(), in_.data(), bytes);
  in_.erase(0, bytes);
  return messages;
}

void WatchdogLink::finish_sending() {
  if (!open()) return;
  flush();
  shutdown(fd(), SHUT_WR);
}

std::string own_place() {
  std::array<char, 64> space{};
  const bool is_known = readlink("/proc/self/ns/net", space.data(), space.size() - 1) > 0;
  return fmt::format("{} {} {}", own_host_name(), boot_id(), is_known ? space.data() : "-");
}

WatchdogLinks link_to_first_rank(Communicator& host, double seconds) {
  const auto ranks = static_cast<std::size_t>(host.size());
  const std::vector<std::string> hosts = all_gather(host, own_host_name());
  const std::vector<std::string> places = all_gather(host, own_place());
  const auto me = static_cast<std::size_t>(host.rank());
  Descriptor door;
  WatchdogInvitation invitation;
  if (me == 0) {
    allow_open_files(ranks);
    std::random_device random;
    invitation.token = (std::uint64_t{random()} << 32U) | random();
    door = open_door(std::ranges::count(places, places[0]) == std::ssize(places), invitation);
  }
  broadcast_bytes(host, std::as_writable_bytes(std::span(&invitation, 1)), 0);
  std::vector<WatchdogLink> links(me == 0 ? ranks : 1);
  const double deadline = watchdog_seconds() + seconds;
  if (me == 0 && door.is_open()) {
    accept_ranks(door, invitation.token, deadline + kLastSeconds, links);
  }
  if (me != 0) links[0] = connect_to(invitation, host.rank(), deadline);
  // Rank 0 knows best: a link counts when it has been answered and is still there.
  std::vector<double> linked = all_gather(host, me == 0 || links[0].open() ? 1.0 : 0.0);
  for (std::size_t rank = 1; me == 0 && rank < ranks; ++rank) {
    if (!links[rank].open()) linked[rank] = 0;
  }
  broadcast(host, span_of(std::span(linked)), 0);
  std::vector<std::string> unreachable;
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    if (linked[rank] == 0) unreachable.push_back(fmt::format("rank {} on {}", rank, hosts[rank]));
  }
  if (unreachable.empty()) return {std::move(links), hosts};
  if (me == 0) {
    print_line(
        fmt::format("warning: {} cannot reach rank 0 on {} over TCP: a rank that hangs will not be "
                    "noticed; open the ports between the hosts, or set mpirun --timeout",
                    fmt::join(unreachable, ", "), hosts[0]));
  }
  return {};
}

double watchdog_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_on(int wake, std::span<const WatchdogLink> links, double seconds) {
  std::vector<pollfd> waiting{{wake, POLLIN, 0}};
  // Messages wait for the next look: only an end is worth waking up for.
  for (const WatchdogLink& link : links) waiting.push_back({link.fd(), POLLRDHUP, 0});
  poll(waiting.data(), waiting.size(), milliseconds(seconds));
}

}  // namespace scalebench
