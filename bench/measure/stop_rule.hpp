// SPDX-License-Identifier: Apache-2.0
// When a case has been repeated often enough: the interval of its median is narrow, or a cap is
// hit. Decides from times and a clock reading that all ranks share, so that all ranks decide alike.
#pragma once

#include <cstddef>
#include <span>

namespace scalebench {

struct StopRule {
  std::size_t fixed = 0;  // exactly this many repetitions; 0: driven by the interval
  std::size_t at_least = 30;
  std::size_t at_most = 5000;
  double at_most_seconds = 5;
  double target = 0.01;  // half-width of the 95 % interval relative to the median

  /// 1 % for operations that are dominated by bandwidth or computing, 2.5 % for short messages.
  static StopRule for_bytes(std::size_t bytes);

  struct Decision {
    bool stop = false;
    bool converged = false;
  };
  /// `seconds`: the repetitions so far in measured order. `elapsed`: since the first one began.
  Decision decide(std::span<const double> seconds, double elapsed) const;
};

}  // namespace scalebench
