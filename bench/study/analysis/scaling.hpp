// SPDX-License-Identifier: Apache-2.0
// The suite's question in formulas, and the only place where they are computed: how far from H/N
// are N devices. Values in, values out. Unknown is NaN.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"

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

// scaling.csv from epoch rows: every strategy and N beside its H and the ideal H/N.

/// `epoch_rows`: one a case and N, of which those with rank = all count. A row's H is the
/// `one_device` row on one rank that equals it in everything but N and strategy; its H_raw the
/// `none` row. A row without its H gets status `failed` and says what is missing. Rows of different
/// origin are never divided by each other.
std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows);

}  // namespace scalebench
