// SPDX-License-Identifier: Apache-2.0
// The suite's question in formulas, and the only place where they are computed: how far from H/N
// are N devices. Values in, values out. Unknown is NaN.
#pragma once

namespace scalebench {

/// A time with its interval, in seconds; low and high are NaN when there is none.
struct TimeWithInterval {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

struct Scaling {
  double ideal_seconds = 0;  // H/N
  double rho = 0;            // samples processed at N over those at 1
  double speedup = 0;        // rho * H / T
  double speedup_low = 0;    // from the far ends of both intervals; NaN without any
  double speedup_high = 0;
  double efficiency = 0;  // speedup / N
  double efficiency_low = 0;
  double efficiency_high = 0;
  double karp_flatt = 0;    // (1/S - 1/N) / (1 - 1/N); NaN at N = 1
  double lost_seconds = 0;  // T - rho * H/N
};

/// `h`: one epoch of `samples_at_one` samples on one device; `t`: one of `samples_at_n` on
/// `devices`. Karp and Flatt, CACM 33(5), 1990. Throws Error unless all are positive.
Scaling scaling_of(TimeWithInterval h, double samples_at_one, TimeWithInterval t,
                   double samples_at_n, int devices);

/// What more ranks cost in epochs, and what is left of the efficiency when they are counted.
struct StatisticalEfficiency {
  double statistical = 0;  // epochs to the target at 1 / at N
  double to_accuracy = 0;  // efficiency * that
};

/// NaN unless both reached the target.
StatisticalEfficiency statistical_efficiency(double epochs_at_one, double epochs_at_n,
                                             double efficiency);

}  // namespace scalebench
