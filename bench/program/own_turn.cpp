// SPDX-License-Identifier: Apache-2.0
#include "bench/program/own_turn.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/launch/turns.hpp"
#include "bench/measure/clock.hpp"

namespace scalebench {
namespace {

/// -1: nobody is there.
int connected_to(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  ucred peer{};
  socklen_t peer_size = sizeof peer;
  const bool is_there = connect(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
                        peer.uid == geteuid();
  if (is_there) return socket;
  close(socket);
  return -1;
}

int connected_as_told() {
  const char* const name = std::getenv(kTurnsVariable);
  return name == nullptr ? -1 : connected_to(name);
}

}  // namespace

double wait_for_turn(const Ranks& ranks) {
  constexpr double kLongestTurnSeconds = 3600;
  constexpr double kLimitOverExpected = 100;      // of Watchdog::expect
  static const int socket = connected_as_told();  // until this process ends
  if (socket < 0) return 0;
  const double begin = local_seconds();
  if (send(socket, &kReady, 1, MSG_NOSIGNAL) != 1) return 0;
  ranks.watchdog.span("waiting for its turn");
  ranks.watchdog.expect(kLongestTurnSeconds / kLimitOverExpected);
  char word = 0;  // kGo; nothing is read where who grants turns has ended
  while (read(socket, &word, 1) < 0 && errno == EINTR) {
  }
  return local_seconds() - begin;
}

}  // namespace scalebench
