// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
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
#include <random>
#include <sstream>
#include <type_traits>
#include <utility>

#include "bench/cli/stderr.hpp"
#include "bench/machine/identity.hpp"
#include "bench/machine/tcp.hpp"
#include "bench/program/watchdog/addresses.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

static_assert(std::is_trivially_copyable_v<WatchdogMessage>);

constexpr double kLastSeconds = 1;  // in which rank 0 still waits, so as not to give up first
constexpr double kAgainSeconds = 0.1;

int milliseconds(double seconds) {
  return static_cast<int>(std::ceil(1e3 * std::clamp(seconds, 0.0, 1e6)));
}

bool wait_for(int fd, short events, double deadline) {
  pollfd one{fd, events, 0};
  while (true) {
    const int ready = poll(&one, 1, milliseconds(deadline - watchdog_seconds()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// Where rank 0 waits for the others.
struct Invitation {
  struct Door {
    std::string address;
    int port = 0;
    bool is_loopback() const {
      return std::ranges::find(kLoopbacks, address) != std::end(kLoopbacks);
    }
  };
  std::uint64_t token = 0;
  std::vector<Door> doors;

  std::string text() const {
    std::string words = std::to_string(token);
    for (const Door& door : doors) words += fmt::format(" {} {}", door.address, door.port);
    return words;
  }
  static Invitation parse(const std::string& text) {
    Invitation one;
    std::istringstream in(text);
    in >> one.token;
    for (Door door; in >> door.address >> door.port;) one.doors.push_back(door);
    return one;
  }
};

/// Null for what is no number.
Addresses resolve(const Invitation::Door& door) {
  std::string unused;
  return addresses_of(door.address, door.port, AI_NUMERICHOST, unused);
}

/// Listens on a port of the system's choice. Not open where the host lacks the address.
Descriptor listen_at(const std::string& address, int& port) {
  const Addresses at = resolve({address, 0});
  if (!at) return Descriptor();
  Descriptor fd = tcp_socket(at->ai_family);
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (!fd.is_open() || bind(fd.number(), at->ai_addr, at->ai_addrlen) != 0 ||
      listen(fd.number(), SOMAXCONN) != 0 ||
      getsockname(fd.number(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return Descriptor();
  }
  port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return fd;
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

/// Those who have come to a door and not yet said who they are. The oldest make room for others, so
/// that strangers who say nothing keep nobody out: a rank says it at once, and comes again.
class Visitors {
 public:
  explicit Visitors(std::size_t ranks) : most_(ranks + kMostStrangers) {}

  std::vector<WatchdogLink>& all() { return all_; }
  /// All who wait at the door.
  void let_in(const Descriptor& door) {
    for (std::size_t count = 0; count < most_; ++count) {
      Descriptor fd(accept4(door.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd.is_open()) {
        if (all_.size() >= most_) send_away(1);
        all_.emplace_back(std::move(fd));
        continue;
      }
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        send_away(all_.size() / 2 + 1);
        sleep_on(-1, {}, 0.01);
      }
      return;
    }
  }
  void forget_gone() {
    std::erase_if(all_, [](const WatchdogLink& one) { return !one.open(); });
  }

 private:
  void send_away(std::size_t count) {
    const auto some = static_cast<std::ptrdiff_t>(std::min(count, all_.size()));
    all_.erase(all_.begin(), all_.begin() + some);
  }

  static constexpr std::size_t kMostStrangers = 16;

  const std::size_t most_;
  std::vector<WatchdogLink> all_;  // by age
};

/// So many ranks and some more may be open at once, where the system lets a process ask for it:
/// 1 024 is what most begin with.
void allow_open_files(std::size_t ranks) {
  constexpr rlim_t kOthers = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t needed = 2 * ranks + kOthers;  // a visitor may be there twice
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Accepts until every rank has come with the token, or time is up. Who says anything else is sent
/// away.
void accept_ranks(std::span<const Descriptor> doors, std::uint64_t token, double deadline,
                  std::vector<WatchdogLink>& links) {
  Visitors visitors(links.size());
  std::vector<bool> came(links.size());  // once, also where the connection has ended since
  std::size_t missing = links.size() - 1;
  while (missing > 0 && watchdog_seconds() < deadline) {
    std::vector<pollfd> waiting;
    for (const Descriptor& door : doors) waiting.push_back({door.number(), POLLIN, 0});
    for (const WatchdogLink& one : visitors.all()) waiting.push_back({one.fd(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), milliseconds(deadline - watchdog_seconds()));
    for (WatchdogLink& one : visitors.all()) {
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
    visitors.forget_gone();
    for (std::size_t i = 0; i < doors.size(); ++i) {
      if (waiting[i].revents != 0) visitors.let_in(doors[i]);
    }
  }
}

/// A link through one door of rank 0, if it answers with the token in time.
WatchdogLink try_door(const Invitation::Door& door, std::uint64_t token, int rank,
                      double deadline) {
  const Addresses found = resolve(door);
  if (!found) return {};
  Descriptor fd = tcp_socket(found->ai_family);
  if (!fd.is_open()) return {};
  const std::chrono::milliseconds patience(milliseconds(deadline - watchdog_seconds()));
  if (connect_within(fd, *found, patience) != 0) return {};
  WatchdogLink link(std::move(fd));
  link.send(hello(token, rank));
  while (link.open() && wait_for(link.fd(), POLLIN, deadline)) {
    for (const WatchdogMessage& message : link.receive()) {
      if (is_hello(message, token)) return link;
    }
  }
  return {};
}

WatchdogLink connect_to(const Invitation& invitation, int rank, bool at_its_place,
                        double deadline) {
  std::vector<Invitation::Door> doors = invitation.doors;
  std::erase_if(doors, [&](const auto& door) { return door.is_loopback() != at_its_place; });
  while (!doors.empty()) {
    // Each gets its share of the time: one behind a firewall swallows all it is given.
    for (std::size_t i = 0; i < doors.size(); ++i) {
      const double now = watchdog_seconds();
      const double share = (deadline - now) / static_cast<double>(doors.size() - i);
      WatchdogLink link = try_door(doors[i], invitation.token, rank, now + share);
      if (link.open()) return link;
    }
    if (watchdog_seconds() + kAgainSeconds > deadline) break;
    sleep_on(-1, {}, kAgainSeconds);
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

WatchdogLinks link_to_first_rank(Communicator& host, double seconds) {
  const auto ranks = static_cast<std::size_t>(host.size());
  const std::vector<std::string> hosts = all_gather(host, own_host_name());
  const std::vector<std::string> places = all_gather(host, own_place());
  const auto me = static_cast<std::size_t>(host.rank());
  std::vector<Descriptor> doors;
  Invitation invitation;
  if (me == 0) {
    allow_open_files(ranks);
    std::random_device random;
    invitation.token = (std::uint64_t{random()} << 32U) | random();
    for (const std::string& address : needed_addresses(own_addresses(), places)) {
      int port = 0;
      Descriptor door = listen_at(address, port);
      if (!door.is_open()) continue;
      doors.push_back(std::move(door));
      invitation.doors.push_back({address, port});
    }
  }
  invitation = Invitation::parse(broadcast_text(host, invitation.text(), 0));

  std::vector<WatchdogLink> links(me == 0 ? ranks : 1);
  const double deadline = watchdog_seconds() + seconds;
  if (me == 0 && !doors.empty()) {
    accept_ranks(doors, invitation.token, deadline + kLastSeconds, links);
  }
  if (me != 0) links[0] = connect_to(invitation, host.rank(), places[me] == places[0], deadline);
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
