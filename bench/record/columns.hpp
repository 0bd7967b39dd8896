// SPDX-License-Identifier: Apache-2.0
// The bandwidth of an allreduce, in 10^9 bytes a second, defined once, and the rates of kernels.
// `bytes` is one rank's buffer. Definitions: NVIDIA nccl-tests, doc/PERFORMANCE.md. busbw does not
// depend on the algorithm.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "bench/measure/statistics.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// bytes / seconds.
inline double algbw_gb_per_s(double bytes, double seconds) { return bytes / seconds * 1e-9; }

/// How the note of a row begins whose bandwidth an emulated link's burst has raised.
inline constexpr std::string_view kBurstNote = "not the link's rate";

/// How the part of a note begins that says what was done to a row on purpose.
inline constexpr std::string_view kInjectedNote = "injected: ";

/// algbw * 2(p-1)/p: what each rank's link carries in a bandwidth-optimal algorithm; 0 for p = 1.
inline double busbw_gb_per_s(double bytes, double seconds, int ranks) {
  return algbw_gb_per_s(bytes, seconds) * 2.0 * (ranks - 1) / ranks;
}

/// The bus bandwidth of a row of allreduce.csv, by its size, its number of ranks and this time.
inline void set_bandwidth(ResultRow& row, double seconds) {
  row.set("busbw_gb_per_s", busbw_gb_per_s(number_in(row, "size_bytes"), seconds,
                                           static_cast<int>(number_in(row, "ranks"))));
}

/// The rates of a row of kernels.csv, by its bytes, its flops and this time; empty without those.
inline void set_kernel_rates(ResultRow& row, double seconds) {
  row.set("gb_per_s", number_in(row, "bytes") / seconds / 1e9);
  row.set("gflop_per_s", number_in(row, "flops") / seconds / 1e9);
}

// The statistics columns, filled in the same way in every result file.

/// Of what an interval is, as its column says: "95% of launches", "range of rounds"; empty without
/// one. `kind`: of a LaunchInterval.
inline std::string interval_label(std::string_view kind, std::string_view of) {
  return kind.empty() ? std::string() : fmt::format("{} of {}", kind, of);
}

/// Sets NAME, NAME_ci_low and NAME_ci_high.
inline void set_interval(ResultRow& row, const std::string& name, const LaunchInterval& interval,
                         double factor = 1) {
  row.set(name, factor * interval.value).set(name + "_ci_low", factor * interval.low);
  row.set(name + "_ci_high", factor * interval.high);
}

/// The column of a case file's time: of epochs, which are costs, their mean over launches.
inline std::string_view time_column(const Schema& schema) {
  return schema.has("seconds_median") ? "seconds_median" : "seconds";
}
inline double seconds_in(const ResultRow& row) { return number_in(row, time_column(row.schema())); }

/// From the repetitions of one launch: the interval is that of the repetitions.
inline void set_statistics(ResultRow& row, const Summary& summary, bool converged) {
  row.set(time_column(row.schema()), summary.median);
  row.set("launches", 1).set("repetitions", summary.n);
  row.set("seconds_ci_low", summary.ci_low).set("seconds_ci_high", summary.ci_high);
  const auto where_it_is = [&](std::string_view column, const auto& value) {
    if (row.schema().has(column)) row.set(column, value);
  };
  where_it_is("interval", interval_label(std::isnan(summary.ci_low) ? "" : "95%", "repetitions"));
  where_it_is("seconds_min", summary.min);
  where_it_is("seconds_p95", summary.p95);
  where_it_is("seconds_p99", summary.p99);
  where_it_is("seconds_max", summary.max);
  where_it_is("seconds_mean", summary.mean);
  where_it_is("outliers", summary.outliers);
  where_it_is("converged", converged ? 1 : 0);
}

/// Fills in `gpu_joules_per_image` of a row of throughput.csv: the mean watts of its cards, one for
/// each rank that the row is of, over images/s. Empty where ranks may share cards.
inline void set_joules(ResultRow& row) {
  if (row.get("origin") == "emulated") return;
  const double cards = row.get("rank") == "all" ? number_in(row, "ranks") : 1;
  row.set("gpu_joules_per_image",
          cards * number_in(row, "gpu_watts") / number_in(row, "images_per_s"));
}

}  // namespace scalebench
