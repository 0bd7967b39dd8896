// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/repetition_plan.hpp"

#include <algorithm>
#include <cmath>

namespace scalebench {

std::size_t operations_to_outlast_clock(double operation_seconds, double clock_pair_seconds) {
  constexpr double kMost = 1000;
  const double longest_share = kClockShare * std::max(operation_seconds, 1e-12);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(clock_pair_seconds / longest_share), 1.0, kMost));
}

std::size_t repetitions_to_decision(const StopRule& stop, std::size_t done,
                                    double repetition_seconds) {
  constexpr std::size_t kFirst = 10;
  const double affordable = 0.1 * stop.at_most_seconds / std::max(repetition_seconds, 1e-12);
  std::size_t wanted = std::max(kFirst, done / 10);
  if (affordable < static_cast<double>(wanted)) wanted = static_cast<std::size_t>(affordable);
  const std::size_t most = stop.fixed > 0 ? stop.fixed : stop.at_most;
  return std::max<std::size_t>(1, std::min(wanted, most - std::min(most, done)));
}

}  // namespace scalebench
