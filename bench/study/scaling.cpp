// SPDX-License-Identifier: Apache-2.0
#include "bench/study/scaling.hpp"

#include <cmath>
#include <limits>

#include "kernels/error.hpp"

namespace scalebench {

Scaling scaling_of(TimeWithInterval h, double samples_at_one, TimeWithInterval t,
                   double samples_at_n, int devices) {
  const bool possible =
      h.seconds > 0 && t.seconds > 0 && samples_at_one > 0 && samples_at_n > 0 && devices > 0;
  if (!possible) {
    fail("no speedup from H = {} s over {} samples and T = {} s over {} samples on {} devices",
         h.seconds, samples_at_one, t.seconds, samples_at_n, devices);
  }
  const double n = devices;
  // One side without an interval is taken as exact: a single launch has none.
  const auto end = [](double bound, double value) { return std::isnan(bound) ? value : bound; };
  const bool any_interval = !std::isnan(h.low) || !std::isnan(t.low);
  Scaling scaling;
  scaling.ideal_seconds = h.seconds / n;
  scaling.rho = samples_at_n / samples_at_one;
  scaling.speedup = scaling.rho * h.seconds / t.seconds;
  scaling.speedup_low = scaling.speedup_high = std::numeric_limits<double>::quiet_NaN();
  if (any_interval) {
    scaling.speedup_low = scaling.rho * end(h.low, h.seconds) / end(t.high, t.seconds);
    scaling.speedup_high = scaling.rho * end(h.high, h.seconds) / end(t.low, t.seconds);
  }
  scaling.efficiency = scaling.speedup / n;
  scaling.efficiency_low = scaling.speedup_low / n;
  scaling.efficiency_high = scaling.speedup_high / n;
  scaling.karp_flatt = devices > 1 ? (1 / scaling.speedup - 1 / n) / (1 - 1 / n)
                                   : std::numeric_limits<double>::quiet_NaN();
  scaling.lost_seconds = t.seconds - scaling.rho * scaling.ideal_seconds;
  return scaling;
}

StatisticalEfficiency statistical_efficiency(double epochs_at_one, double epochs_at_n,
                                             double efficiency) {
  const double statistical = epochs_at_one / epochs_at_n;
  return {statistical, efficiency * statistical};
}

}  // namespace scalebench
