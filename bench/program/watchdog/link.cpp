// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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
#include <sstream>
#include <type_traits>

#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

static_assert(std::is_trivially_copyable_v<WatchdogMessage>);

// Long enough for a host whose cores are taken, or that asks for the first packet again.
constexpr double kConnectSeconds = 6;
constexpr double kAcceptSeconds = 7;  // so that rank 0 is not the first to give up

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

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  const int error =
      getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

/// Of all interfaces that are up, without loopback and what is valid on one link only.
std::vector<std::string> own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (one->ifa_addr == nullptr || !usable) continue;
    if (one->ifa_addr->sa_family == AF_INET) {
      addresses.insert(addresses.begin(), numeric(one->ifa_addr, sizeof(sockaddr_in)));
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const std::string text = numeric(one->ifa_addr, sizeof(sockaddr_in6));
      if (text.find('%') == std::string::npos) addresses.push_back(text);
    }
  }
  return addresses;
}

/// Where rank 0 waits for the others.
struct Invitation {
  std::uint64_t token = 0;
  int port = 0;
  std::vector<std::string> addresses;

  std::string text() const {
    return fmt::format("{} {} {}", token, port, fmt::join(addresses, " "));
  }
  static Invitation parse(const std::string& text) {
    Invitation one;
    std::istringstream in(text);
    in >> one.token >> one.port;
    for (std::string address; in >> address;) one.addresses.push_back(address);
    return one;
  }
};

/// Listens on a port of the system's choice, for IPv6 and IPv4 where the host has both.
FileDescriptor listen_anywhere(int ranks, int& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.get() < 0) continue;
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    const int off = 0;
    if (family == AF_INET6) {
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd.get(), generic, length) != 0 || listen(fd.get(), ranks) != 0 ||
        getsockname(fd.get(), generic, &length) != 0) {
      continue;
    }
    port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                    : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    return fd;
  }
  return FileDescriptor();
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

/// Accepts until every rank has come with the token, or time is up. Strangers are left to wait.
void accept_ranks(const FileDescriptor& door, std::uint64_t token,
                  std::vector<WatchdogLink>& links) {
  const double deadline = watchdog_seconds() + kAcceptSeconds;
  std::vector<WatchdogLink> strangers;
  std::vector<bool> came(links.size());  // once, also where the connection has ended since
  std::size_t missing = links.size() - 1;
  while (missing > 0 && watchdog_seconds() < deadline) {
    std::vector<pollfd> waiting{{door.get(), POLLIN, 0}};
    for (const WatchdogLink& one : strangers) waiting.push_back({one.fd(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), milliseconds(deadline - watchdog_seconds()));
    for (WatchdogLink& one : strangers) {
      for (const WatchdogMessage& message : one.receive()) {
        const auto rank = static_cast<std::size_t>(message.rank);
        if (!is_hello(message, token) || rank == 0 || rank >= links.size()) continue;
        if (came[rank]) continue;
        came[rank] = true;
        one.send(hello(token, 0));
        links[rank] = std::move(one);
        --missing;
        break;
      }
    }
    std::erase_if(strangers, [](const WatchdogLink& one) { return !one.open(); });
    FileDescriptor fd(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() >= 0) strangers.emplace_back(std::move(fd));
  }
}

/// A link to one address of rank 0, if it answers with the token in time.
WatchdogLink try_address(const std::string& address, const Invitation& invitation, int rank,
                         double deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(invitation.port);
  if (getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  FileDescriptor fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return {};
  if (connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) {
    int error = 0;
    socklen_t length = sizeof(error);
    if (errno != EINPROGRESS || !wait_for(fd.get(), POLLOUT, deadline) ||
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) {
      return {};
    }
  }
  WatchdogLink link(std::move(fd));
  link.send(hello(invitation.token, rank));
  while (link.open() && wait_for(link.fd(), POLLIN, deadline)) {
    for (const WatchdogMessage& message : link.receive()) {
      if (is_hello(message, invitation.token)) return link;
    }
  }
  return {};
}

WatchdogLink connect_to(const Invitation& invitation, int rank, bool same_host) {
  std::vector<std::string> addresses = invitation.addresses;
  // Both: a host with one stack only still has its own loopback.
  if (same_host) addresses.insert(addresses.begin(), {"127.0.0.1", "::1"});
  // Each address gets its share of the time: one behind a firewall swallows all it is given.
  const double end = watchdog_seconds() + kConnectSeconds;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const double share = (end - watchdog_seconds()) / static_cast<double>(addresses.size() - i);
    WatchdogLink link = try_address(addresses[i], invitation, rank, watchdog_seconds() + share);
    if (link.open()) return link;
  }
  return {};
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
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
  std::array<char, 4096> piece{};
  while (open()) {
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

WatchdogLinks link_to_first_rank(Communicator& host) {
  const auto ranks = static_cast<std::size_t>(host.size());
  const std::vector<std::string> hosts = all_gather(host, own_host_name());
  const auto me = static_cast<std::size_t>(host.rank());
  FileDescriptor door;
  Invitation invitation;
  if (me == 0) {
    std::random_device random;
    invitation.token = (std::uint64_t{random()} << 32U) | random();
    invitation.addresses = own_addresses();
    door = listen_anywhere(host.size(), invitation.port);
  }
  invitation = Invitation::parse(all_gather(host, invitation.text())[0]);

  std::vector<WatchdogLink> links(me == 0 ? ranks : 1);
  if (me == 0 && door.get() >= 0) accept_ranks(door, invitation.token, links);
  if (me != 0) links[0] = connect_to(invitation, host.rank(), hosts[me] == hosts[0]);
  // Rank 0 knows best: a link counts when it has been answered and is still there.
  std::vector<double> linked(ranks, 1);
  for (std::size_t rank = 1; me == 0 && rank < ranks; ++rank) linked[rank] = links[rank].open();
  if (me != 0) linked[me] = links[0].open();
  const std::vector<double> all = all_gather(host, linked);
  std::vector<std::string> unreachable;
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    if (all[rank] != 0 && all[rank * ranks + rank] != 0) continue;
    unreachable.push_back(fmt::format("rank {} on {}", rank, hosts[rank]));
  }
  if (unreachable.empty()) return {std::move(links), hosts};
  if (me == 0) {
    fmt::print(stderr,
               "warning: {} cannot reach rank 0 on {} over TCP: a rank that hangs will not be "
               "noticed; open the ports between the hosts, or set mpirun --timeout\n",
               fmt::join(unreachable, ", "), hosts[0]);
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
