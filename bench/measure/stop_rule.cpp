// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/stop_rule.hpp"

#include "bench/measure/statistics.hpp"

namespace scalebench {

StopRule StopRule::for_bytes(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 20U;
  StopRule rule;
  rule.target = bytes >= kLarge ? 0.01 : 0.025;
  return rule;
}

StopRule::Decision StopRule::decide(std::span<const double> seconds, double elapsed) const {
  const bool narrow = seconds.size() >= 6 && relative_half_width(summarise(seconds)) <= target;
  if (fixed > 0) return {seconds.size() >= fixed, narrow};
  if (seconds.size() >= at_least && narrow) return {true, true};
  return {seconds.size() >= at_most || elapsed >= at_most_seconds, false};
}

}  // namespace scalebench
