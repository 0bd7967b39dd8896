// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/common_start.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {

void dissemination_barrier(Communicator& host) {
  double out = 0;
  double in = 0;
  const int ranks = host.size();
  for (int distance = 1; distance < ranks; distance *= 2) {
    host.exchange(span_of(std::span(&out, 1)), (host.rank() + distance) % ranks,
                  span_of(std::span(&in, 1)), (host.rank() + ranks - distance) % ranks);
  }
}

double measure_lead_seconds(Communicator& host) {
  std::vector<double> probes(10);
  for (double& probe : probes) {
    double value = 0;
    host.barrier();
    const double begin = local_seconds();
    broadcast(host, span_of(std::span(&value, 1)), 0);
    probe = local_seconds() - begin;
  }
  return 3 * std::ranges::max(all_gather(host, median_of(probes)));
}

double measure_clock_pair_seconds(Communicator& host, const GlobalClock& clock) {
  constexpr int kPairs = 200;
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double begin = clock.now();
    for (int i = 1; i < 2 * kPairs; ++i) clock.now();
    best = std::min(best, (clock.now() - begin) / kPairs);
  }
  return std::ranges::max(all_gather(host, best));
}

}  // namespace scalebench
