// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/warm_up.hpp"

#include <algorithm>
#include <cmath>

#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr int kGroup = 10;

struct Group {
  double median = 0;   // slowest rank
  double elapsed = 0;  // rank 0's, since the warm-up began
};

/// Operations one after the other without any agreement on their start. Rank 0's clock comes with
/// the same message, so that all ranks decide on it and none leaves a loop alone.
Group run_group(Communicator& host, const CollectiveOperation& operation, int count, double begin) {
  std::vector<double> seconds(static_cast<std::size_t>(count));
  host.barrier();
  for (double& value : seconds) {
    operation.prepare();
    const double start = local_seconds();
    operation.enqueue();
    operation.wait();
    value = local_seconds() - start;
  }
  const double mine[] = {local_seconds() - begin, median_of(seconds)};
  const std::vector<double> all = all_gather(host, mine);
  Group group{0, all[0]};
  for (std::size_t i = 1; i < all.size(); i += 2) group.median = std::max(group.median, all[i]);
  return group;
}

}  // namespace

WarmUp warm_up(Communicator& host, const CollectiveOperation& operation, const WarmUpRule& rule) {
  WarmUp warm;
  warm.first_call_seconds = run_group(host, operation, 1, 0).median;
  const double begin = local_seconds();
  if (rule.fixed >= 0) {
    warm.seconds = run_group(host, operation, std::max(rule.fixed, 1), begin).median;
    return warm;
  }
  int surplus = 0;  // operations since both minima were met
  for (int done = kGroup;; done += kGroup) {
    const Group group = run_group(host, operation, kGroup, begin);
    // The first group has none before it, and differs from 0.
    warm.steady = std::abs(group.median - warm.seconds) < 0.05 * warm.seconds;
    warm.seconds = group.median;
    const bool enough = done >= rule.at_least && group.elapsed >= rule.at_least_seconds;
    if (enough) surplus += kGroup;
    if (enough && warm.steady) return warm;
    if (surplus >= rule.at_most || group.elapsed >= rule.at_most_seconds) return warm;
  }
}

}  // namespace scalebench
