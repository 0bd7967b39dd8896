// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce_cost.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/segment.hpp"
#include "collectives/two_trees.hpp"

namespace scalebench::cost {
namespace {

/// Slots of one phase in which a rank sends or receives, when `segments` pass each of its links.
double busy_slots(const std::vector<TreeLink>& up, const std::vector<TreeLink>& down,
                  double segments) {
  double busy = static_cast<double>(up.size() + down.size()) * segments;
  for (const TreeLink& link : down) {
    for (const TreeLink& other : up) {
      if (link.first_slot % 2 != other.first_slot % 2) continue;
      // In the slots that both need, one exchange does both.
      const double apart =
          std::abs(static_cast<double>(link.first_slot) - static_cast<double>(other.first_slot)) /
          2;
      busy -= std::max(segments - apart, 0.0);
    }
  }
  return busy;
}

}  // namespace

double lg(double p) { return std::floor(std::log2(p)); }

double folded(double p) { return std::exp2(lg(p)) < p ? 1 : 0; }

double halved(double p) { return 1 - std::exp2(-lg(p)); }

double segments(double n) { return std::ceil(n / static_cast<double>(kSegmentElements)); }

AllreduceCost trees(double p, double n) {
  const int ranks = static_cast<int>(p);
  const TwoTrees both(ranks);
  AllreduceCost most{0, 0, 0};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto up = both.up(rank), down = both.down(rank);
    const auto children = static_cast<double>(down.size());
    const auto links = static_cast<double>(up.size() + down.size());
    most.steps = std::max(most.steps, 2 * busy_slots(up, down, segments(n / 2)));
    most.sent = std::max(most.sent, links * n / 2);
    most.reduced = std::max(most.reduced, children * n / 2);
  }
  return most;
}

}  // namespace scalebench::cost
