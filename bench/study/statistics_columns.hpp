// SPDX-License-Identifier: Apache-2.0
// The statistics columns, filled in the same way in every result file.
#pragma once

#include "bench/measure/statistics.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// From the repetitions of one launch: the interval is that of the repetitions.
inline void set_statistics(ResultRow& row, const Summary& summary, bool converged) {
  row.set("launches", 1).set("repetitions", summary.n).set("seconds_median", summary.median);
  row.set("seconds_ci_low", summary.ci_low).set("seconds_ci_high", summary.ci_high);
  row.set("interval", summary.ci_low == summary.ci_low ? "95%" : "");
  row.set("seconds_min", summary.min).set("seconds_p5", summary.p5).set("seconds_p95", summary.p95);
  row.set("seconds_max", summary.max).set("seconds_mean", summary.mean);
  row.set("outliers", summary.outliers).set("converged", converged ? 1 : 0);
}

}  // namespace scalebench
