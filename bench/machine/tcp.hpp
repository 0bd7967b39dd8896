// SPDX-License-Identifier: Apache-2.0
// TCP between hosts: names and numbers of addresses, the way to one, and sockets that are closed on
// exec and never block.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "bench/machine/descriptor.hpp"

namespace scalebench {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Of a name, or a number; `flags`: AI_NUMERICHOST takes numbers alone. Null when there is none,
/// which `why` then says.
inline Addresses addresses_of(const std::string& name, int port, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) why = gai_strerror(error);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

/// "10.0.0.1", "fd00::1"; empty for what is neither.
inline std::string numeric(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const bool is_six = address->sa_family == AF_INET6;
  const int error = getnameinfo(address, is_six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in),
                                text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

/// Of this host's addresses, that from which the first of `addresses` is reached that is reached at
/// all; empty: none is.
inline std::string own_address_towards(const Addresses& addresses) {
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    // Nothing is sent: connecting a datagram socket asks the routes.
    const Descriptor asking(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    if (asking.is_open() && connect(asking.number(), one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(asking.number(), generic, &length) == 0) {
      return numeric(generic);
    }
  }
  return "";
}

inline Descriptor tcp_socket(int family) {
  return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// 0, or an errno, of connecting `socket`; ETIMEDOUT after `patience`, whatever signals come.
inline int connect_within(const Descriptor& socket, const addrinfo& address,
                          std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + patience;
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{socket.number(), POLLOUT, 0};
  int ready = -1;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ready = poll(&waiting, 1, static_cast<int>(std::max<long>(0, left.count())));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

}  // namespace scalebench
