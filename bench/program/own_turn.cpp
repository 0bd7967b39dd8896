// SPDX-License-Identifier: Apache-2.0
#include "bench/program/own_turn.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bench/launch/turns.hpp"
#include "bench/measure/clock.hpp"

namespace scalebench {
namespace {

int connected_as_told() {
  const char* const name = std::getenv(kTurnsVariable);
  return name == nullptr ? -1 : connect_to_turns(name);
}

/// Until this process ends.
int own_socket() {
  static const int socket = connected_as_told();
  return socket;
}

}  // namespace

double wait_for_turn(const Ranks& ranks) {
  constexpr double kLongestTurnSeconds = 3600;
  const int socket = own_socket();
  if (socket < 0) return 0;
  const double begin = local_seconds();
  if (send(socket, &kReady, 1, MSG_NOSIGNAL) != 1) return 0;
  ranks.watchdog.span("waiting for its turn");
  ranks.watchdog.allow(kLongestTurnSeconds);
  char word = 0;  // kGo; nothing is read where who grants turns has ended
  while (read(socket, &word, 1) < 0 && errno == EINTR) {
  }
  return local_seconds() - begin;
}

bool takes_turns() { return own_socket() >= 0; }

double begin_in_turn(const Ranks& ranks, const std::string& cell, double operation_seconds) {
  const double waited = wait_for_turn(ranks);
  ranks.watchdog.cell(cell);
  ranks.watchdog.expect(operation_seconds);
  return waited;
}

}  // namespace scalebench
