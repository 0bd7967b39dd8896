// SPDX-License-Identifier: Apache-2.0
// From the launches of a cell to its one row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/means.hpp"

namespace scalebench {
namespace {

/// Columns of a case row, beside the time, whose value over launches is their median.
constexpr std::string_view kMedians[]{
    "first_call_seconds", "skew_seconds",         "samples",       "test_accuracy",
    "enqueue_seconds",    "bound_busbw_gb_per_s", "mfu_published", "sm_clock_mhz",
    "throttled_share",    "power_capped_share",   "gpu_watts"};

/// Parts of an epoch's costs: as its time, their means, so that they sum to it.
constexpr std::string_view kParts[]{"compute_seconds",
                                    "transfer_seconds",
                                    "wait_static_seconds",
                                    "wait_jitter_seconds",
                                    "input_seconds",
                                    "evaluation_seconds",
                                    "joules"};

std::vector<double> numbers(const std::vector<CellLaunch>& cases, std::string_view column) {
  std::vector<double> values;
  for (const CellLaunch& one : cases) {
    const double value = number_in(one.row, column);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

/// What each launch says by itself: many repetitions give it no more say.
std::vector<double> of_each(const std::vector<Summary>& launches, double Summary::*statistic) {
  std::vector<double> values;
  for (const Summary& launch : launches) values.push_back(launch.*statistic);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values;
}

void set_time(ResultRow& row, const std::vector<CellLaunch>& cases) {
  std::vector<Summary> launches;
  Summary over;
  bool converged = true;
  for (const CellLaunch& one : cases) {
    const Summary& launch = launches.emplace_back(summarise(one.samples));
    over.n += launch.n;
    over.outliers += launch.outliers;
    converged = converged && text_in(one.row, "converged") != "0";
  }
  // Epochs are costs, and add up.
  const bool is_cost = row.schema().file == epoch_schema().file;
  const std::vector<double> medians = of_each(launches, &Summary::median);
  const LaunchInterval interval = is_cost ? mean_of(medians) : across_launches(medians);
  over.median = interval.value;
  over.ci_low = interval.low;
  over.ci_high = interval.high;
  over.min = std::ranges::min(launches, {}, &Summary::min).min;
  over.max = std::ranges::max(launches, {}, &Summary::max).max;
  over.p95 = median_of(of_each(launches, &Summary::p95));
  over.p99 = median_of(of_each(launches, &Summary::p99));
  over.mean = median_of(of_each(launches, &Summary::mean));
  set_statistics(row, over, converged);
  row.set("launches", cases.size());
  if (row.schema().has("interval")) row.set("interval", interval_label(interval.kind, "launches"));
  const bool counted = row.schema().has("converged") && cases.front().row.get("converged").empty();
  if (counted) row.set("converged", "");
}

/// Empty where a launch does not know it: then nobody knows of what the others would be a mean.
void set_parts(ResultRow& row, const std::vector<CellLaunch>& cases) {
  for (const std::string_view column : kParts) {
    const std::vector<double> values = numbers(cases, column);
    row.set(column, values.size() == cases.size() ? mean_of(values).value : std::nan(""));
  }
  if (row.get("wait_static_seconds").empty()) {
    // Transfer is with the waiting, then, of all launches.
    std::vector<double> together;
    for (const CellLaunch& one : cases) together.push_back(transfer_and_wait(one.row));
    row.set("transfer_seconds", mean_of(together).value);
  }
  // Why something is not known is said by a launch that lacks it.
  const auto lacks = [](const CellLaunch& one) {
    return one.row.get("wait_static_seconds").empty() && !one.row.get("note").empty();
  };
  if (const auto why = std::ranges::find_if(cases, lacks); why != cases.end()) {
    row.set("note", why->row.get("note"));
  }
  const auto is_other = [&](const CellLaunch& one) {
    return one.row.get("last_rank") != row.get("last_rank");
  };
  if (std::ranges::any_of(cases, is_other)) row.set("last_rank", "");
}

/// Rates follow from the time, last; those of several ranks together from their own times, which no
/// row of a study has: each launch's own rate, and the median of these.
void set_rates(ResultRow& row, const std::vector<CellLaunch>& cases) {
  const double median = seconds_in(row);
  if (row.schema().file == allreduce_schema().file) {
    set_bandwidth(row, median);
  } else if (row.schema().file == throughput_schema().file) {
    set_interval(row, "images_per_s", across_launches(numbers(cases, "images_per_s")));
  } else if (row.schema().file == kernels_schema().file) {
    set_kernel_rates(row, median);
  }
}

std::string most_frequent(const std::vector<CellLaunch>& cases, std::string_view column) {
  std::map<std::string, int> times;
  for (const CellLaunch& one : cases) ++times[one.row.get(column)];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

/// What it took to the target, where every launch reached it: else nobody knows the mean.
void set_to_target(ResultRow& row, const std::vector<CellLaunch>& cases) {
  const std::vector<double> epochs = numbers(cases, "epochs_to_target");
  const bool all = epochs.size() == cases.size();
  row.set("epochs_to_target", all ? mean_of(epochs).value : std::nan(""));
  if (!all && !epochs.empty()) {
    row.add_note(fmt::format("{} of {} launches reached the target", epochs.size(), cases.size()));
  }
}

}  // namespace

ResultRow over_launches(const std::vector<CellLaunch>& launches) {
  std::vector<CellLaunch> measured;
  for (const CellLaunch& one : launches) {
    // One wrong sum voids the case, whatever other launches said.
    if (one.row.get("status") == "wrong") return one.row;
    if (one.row.get("status") == "ok" && !one.samples.empty()) measured.push_back(one);
  }
  if (measured.empty()) {
    const auto first = std::ranges::find_if(launches, &CellLaunch::ok);
    return first == launches.end() ? launches.front().row : first->row;
  }
  ResultRow row = measured.front().row;
  set_time(row, measured);
  set_rates(row, measured);
  for (const std::string_view column : kMedians) {
    if (row.schema().has(column)) row.set(column, median_of(numbers(measured, column)));
  }
  if (row.schema().has("gpu_joules_per_image")) set_joules(row);
  if (row.schema().file == epoch_schema().file) {
    set_to_target(row, measured);
    set_parts(row, measured);
  }
  if (row.schema().has("slowest_rank"))
    row.set("slowest_rank", most_frequent(measured, "slowest_rank"));
  if (measured.size() < launches.size()) {
    row.add_note(fmt::format("{} of {} launches measured it", measured.size(), launches.size()));
  }
  return row;
}

}  // namespace scalebench
