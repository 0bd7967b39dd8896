// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/clock_sync.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr int kPingPongs = 100;

struct Offset {
  double seconds = 0;
  double residual = 0;
};

/// Rank `peer` asks rank 0 for the time; the answer of the fastest round trip is believed.
Offset measure_offset(Communicator& host, int peer) {
  double value = 0;
  const Span message = span_of(std::span(&value, 1));
  const Span nothing = message.part(0, 0);
  if (host.rank() == 0) {
    for (int i = 0; i < kPingPongs; ++i) {
      host.exchange(nothing, peer, message, peer);
      value = local_seconds();
      host.exchange(message, peer, nothing, peer);
    }
    return {};
  }
  Offset best{0, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < kPingPongs; ++i) {
    const double sent = local_seconds();
    host.exchange(message, 0, nothing, 0);
    host.exchange(nothing, 0, message, 0);
    const double received = local_seconds();
    if (received - sent < 2 * best.residual) {
      best = {value - (sent + received) / 2, (received - sent) / 2};
    }
  }
  return best;
}

}  // namespace

double local_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

GlobalClock::GlobalClock(Communicator& host) {
  if (host.topology().nodes() <= 1) return;
  for (int peer = 1; peer < host.size(); ++peer) {
    if (host.rank() != 0 && host.rank() != peer) continue;
    const Offset offset = measure_offset(host, peer);
    if (host.rank() == peer) {
      offset_ = offset.seconds;
      residual_ = offset.residual;
    }
  }
  residual_ = std::ranges::max(all_gather(host, residual_));
}

}  // namespace scalebench
