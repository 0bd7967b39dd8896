// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/post.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <type_traits>

namespace scalebench {
namespace {

static_assert(std::is_trivially_copyable_v<Letter> && std::is_trivially_copyable_v<Invitation>);

}  // namespace

Post::Post() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  static_cast<void>(bind(fd(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)));
}

Invitation Post::invitation() const {
  std::random_device random;
  Invitation invitation;
  invitation.token = (std::uint64_t{random()} << 32U) | random();
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  ifaddrs* first = nullptr;
  if (getsockname(fd(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return invitation;
  if (getifaddrs(&first) != 0) return invitation;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || invitation.count == invitation.addresses.size()) continue;
    own.sin_addr = reinterpret_cast<const sockaddr_in&>(*one->ifa_addr).sin_addr;
    invitation.addresses[invitation.count++] = own;
  }
  return invitation;
}

void Post::send(const Letter& letter, const sockaddr_in& to) const {
  sendto(fd(), &letter, sizeof(letter), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
         sizeof(to));
}

std::optional<Post::Received> Post::receive(std::uint64_t token) const {
  while (true) {
    Received received{};
    socklen_t size = sizeof(received.from);
    const ssize_t got = recvfrom(fd(), &received.letter, sizeof(Letter), MSG_TRUNC,
                                 reinterpret_cast<sockaddr*>(&received.from), &size);
    if (got < 0) return std::nullopt;
    if (got == sizeof(Letter) && token != 0 && received.letter.token == token) return received;
  }
}

}  // namespace scalebench
