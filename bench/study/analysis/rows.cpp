// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/losses.hpp"
#include "bench/study/analysis/means.hpp"
#include "bench/study/analysis/rounds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Columns of a case row, beside the time, whose value over launches is their median.
constexpr std::string_view kMedians[]{
    "first_call_seconds",   "skew_seconds", "samples",       "test_accuracy", "enqueue_seconds",
    "bound_busbw_gb_per_s", "mfu",          "mfu_published", "sm_clock_mhz",  "throttled_share",
    "power_capped_share",   "gpu_watts"};

/// Parts of an epoch's costs: as its time, their means, so that they sum to it.
constexpr std::string_view kParts[]{"compute_seconds",
                                    "transfer_seconds",
                                    "wait_static_seconds",
                                    "wait_jitter_seconds",
                                    "input_seconds",
                                    "evaluation_seconds",
                                    "joules"};

/// Whether a header stands there; a writer that was killed at once leaves an empty file.
bool has_whole_line(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  return std::getline(file, line) && !file.eof();
}

/// Where each column of the schema stands in the file.
std::vector<std::ptrdiff_t> places_of(const CsvTable& table, const Schema& schema) {
  std::vector<std::ptrdiff_t> places;
  for (const std::string& column : schema.columns) {
    table.require(column);
    places.push_back(std::ranges::find(table.columns(), column) - table.columns().begin());
  }
  return places;
}

/// What one case of one launch says: its row and the repetitions behind it.
struct LaunchCase {
  const ResultRow* row = nullptr;
  std::vector<double> seconds;

  bool measured() const { return row->get("status") == "ok" && !seconds.empty(); }
};

/// A rank's own samples carry its number; those of all ranks together carry none.
std::string sample_key(const std::string& case_id, const std::string& ranks, std::string rank) {
  if (rank == "all") rank.clear();
  return case_id + "/" + ranks + "/" + rank;
}

/// Which rank's samples stand behind a row: in throughput.csv, `all` is the slowest rank's step.
std::string sampled_rank(const LaunchRows& launch, const ResultRow& row) {
  std::string rank = text_in(row, "rank");
  if (row.schema().file != throughput_schema().file || rank != "all") return rank;
  if (row.get("ranks") == "1") {
    // One rank has no row of its own; an import has no samples of it either.
    const bool has_own = std::ranges::any_of(launch.samples, [&](const ResultRow& sample) {
      return sample.get("case_id") == row.get("case_id") && sample.get("ranks") == "1" &&
             sample.get("rank") == "0";
    });
    return has_own ? "0" : rank;
  }
  for (const ResultRow& other : launch.cases) {
    const bool same = other.get("case_id") == row.get("case_id") && other.get("rank") != "all" &&
                      other.get("seconds_median") == row.get("seconds_median");
    if (same) return other.get("rank");
  }
  return rank;
}

std::vector<double> numbers(const std::vector<LaunchCase>& cases, std::string_view column) {
  std::vector<double> values;
  for (const LaunchCase& one : cases) {
    const double value = number_in(*one.row, column);
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

void set_time(ResultRow& row, const std::vector<LaunchCase>& cases) {
  std::vector<Summary> launches;
  Summary over;
  bool converged = true;
  for (const LaunchCase& one : cases) {
    const Summary& launch = launches.emplace_back(summarise(one.seconds));
    over.n += launch.n;
    over.outliers += launch.outliers;
    converged = converged && text_in(*one.row, "converged") != "0";
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
  const bool counted = row.schema().has("converged") && cases.front().row->get("converged").empty();
  if (counted) row.set("converged", "");
}

/// Empty where a launch does not know it: then nobody knows of what the others would be a mean.
void set_parts(ResultRow& row, const std::vector<LaunchCase>& cases) {
  for (const std::string_view column : kParts) {
    const std::vector<double> values = numbers(cases, column);
    row.set(column, values.size() == cases.size() ? mean_of(values).value : std::nan(""));
  }
  if (row.get("wait_static_seconds").empty()) {
    // Transfer is with the waiting, then, of all launches.
    std::vector<double> together;
    for (const LaunchCase& one : cases) together.push_back(transfer_and_wait(*one.row));
    row.set("transfer_seconds", mean_of(together).value);
  }
  // Why something is not known is said by a launch that lacks it.
  const auto lacks = [](const LaunchCase& one) {
    return one.row->get("wait_static_seconds").empty() && !one.row->get("note").empty();
  };
  if (const auto why = std::ranges::find_if(cases, lacks); why != cases.end()) {
    row.set("note", why->row->get("note"));
  }
  const auto is_other = [&](const LaunchCase& one) {
    return one.row->get("last_rank") != row.get("last_rank");
  };
  if (std::ranges::any_of(cases, is_other)) row.set("last_rank", "");
}

/// Rates follow from the time, last; those of several ranks together from their own times, which no
/// row of a study has: each launch's own rate, and the median of these.
void set_rates(ResultRow& row, const std::vector<LaunchCase>& cases) {
  const double median = seconds_in(row);
  if (row.schema().file == allreduce_schema().file) {
    set_bandwidth(row, median);
  } else if (row.schema().file == throughput_schema().file) {
    set_interval(row, "images_per_s", across_launches(numbers(cases, "images_per_s")));
  } else if (row.schema().file == kernels_schema().file) {
    set_kernel_rates(row, median);
  }
}

std::string most_frequent(const std::vector<LaunchCase>& cases, std::string_view column) {
  std::map<std::string, int> times;
  for (const LaunchCase& one : cases) ++times[one.row->get(column)];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

/// What it took to the target, where every launch reached it: else nobody knows the mean.
void set_to_target(ResultRow& row, const std::vector<LaunchCase>& cases) {
  const std::vector<double> epochs = numbers(cases, "epochs_to_target");
  const bool all = epochs.size() == cases.size();
  row.set("epochs_to_target", all ? mean_of(epochs).value : std::nan(""));
  if (!all && !epochs.empty()) {
    row.add_note(fmt::format("{} of {} launches reached the target", epochs.size(), cases.size()));
  }
}

/// By order_of, which is made once a row: a comparison would make it anew.
void sort_by_parameters(std::vector<ResultRow>& rows) {
  std::vector<std::pair<std::vector<std::pair<double, std::string>>, std::size_t>> order;
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order.emplace_back(order_of(rows[i]), i);
  std::ranges::sort(order);
  std::vector<ResultRow> sorted;
  sorted.reserve(rows.size());
  for (const auto& [key, place] : order) sorted.push_back(std::move(rows[place]));
  rows = std::move(sorted);
}

std::vector<LaunchCase> measured_of(const std::vector<LaunchCase>& cases) {
  std::vector<LaunchCase> measured;
  std::ranges::copy_if(cases, std::back_inserter(measured), &LaunchCase::measured);
  return measured;
}

/// One case over its launches. `cases` is not empty; the first row gives what all share.
ResultRow join(const std::vector<LaunchCase>& cases) {
  const std::vector<LaunchCase> measured = measured_of(cases);
  for (const LaunchCase& one : cases) {
    // One wrong sum voids the case, whatever other launches said.
    if (one.row->get("status") == "wrong") return *one.row;
  }
  if (measured.empty()) return *cases.front().row;
  ResultRow row = *measured.front().row;
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
  if (measured.size() < cases.size()) {
    row.add_note(fmt::format("{} of {} launches measured it", measured.size(), cases.size()));
  }
  return row;
}

}  // namespace

std::vector<std::pair<double, std::string>> order_of(const ResultRow& row) {
  constexpr std::array<std::string_view, 20> kOrder{
      "model", "transport",    "memory",     "dtype",         "op",        "placement", "mode",
      "cache", "pages",        "register",   "scaling",       "dataset",   "ranks",     "nodes",
      "batch", "global_batch", "size_bytes", "gradient_sync", "algorithm", "rank"};
  std::vector<std::pair<double, std::string>> order;
  for (const std::string_view column : kOrder) {
    const std::string text = text_in(row, column);
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    order.emplace_back(number ? std::stod(text) : std::numeric_limits<double>::max(), text);
  }
  return order;
}

std::vector<ResultRow> rows_in(const std::filesystem::path& folder, const Schema& schema,
                               bool* torn) {
  std::vector<ResultRow> rows;
  const std::filesystem::path path = csv_file(folder / schema.file);
  if (torn != nullptr) *torn = false;
  if (!std::filesystem::exists(path)) return rows;
  if (path.extension() != ".gz" && !has_whole_line(path)) {
    if (torn != nullptr) *torn = std::filesystem::file_size(path) > 0;
    return rows;
  }
  CsvTable table = CsvTable::read(path);
  if (torn != nullptr) *torn = table.torn();
  const std::vector<std::ptrdiff_t> places = places_of(table, schema);
  rows.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::vector<std::string> cells(schema.columns.size());
    for (std::size_t k = 0; k < cells.size(); ++k)
      cells[k] = table.cells(i)[static_cast<std::size_t>(places[k])];
    rows.emplace_back(schema, std::move(cells));
    table.release(i);  // 100 000 rows twice would be half a gigabyte
  }
  return rows;
}

std::string torn_text(const std::filesystem::path& file) {
  return file.string() + ": its last line was cut short and is left out";
}

std::vector<ResultRow> over_launches(const std::vector<LaunchRows>& launches,
                                     const Schema& schema) {
  // By case, N and origin, then by rank.
  std::map<std::string, std::map<std::string, std::vector<LaunchCase>>> by_case;
  std::vector<std::pair<std::string, std::string>> order;
  for (const LaunchRows& launch : launches) {
    std::map<std::string, std::vector<double>> samples;
    for (const ResultRow& row : launch.samples) {
      samples[sample_key(row.get("case_id"), row.get("ranks"), row.get("rank"))].push_back(
          number_in(row, "seconds"));
    }
    for (const ResultRow& row : launch.cases) {
      if (&row.schema() != &schema) fail("a row of {} among {}", row.schema().file, schema.file);
      const std::string key = fmt::format("{}/{}/{}/{}", row.get("case_id"), text_in(row, "ranks"),
                                          text_in(row, "nodes"), row.get("origin"));
      std::vector<LaunchCase>& cases = by_case[key][text_in(row, "rank")];
      if (cases.empty()) order.emplace_back(key, text_in(row, "rank"));
      cases.push_back({&row, samples[sample_key(row.get("case_id"), text_in(row, "ranks"),
                                                sampled_rank(launch, row))]});
    }
  }
  std::vector<ResultRow> rows;
  for (const auto& [key, rank] : order) {
    rows.push_back(join(by_case[key].at(rank)));
  }
  sort_by_parameters(rows);
  return rows;
}

void relate_to_one_rank(std::vector<ResultRow>& throughput_rows,
                        const std::vector<LaunchRows>& launches) {
  const Rounds rounds(launches);
  for (ResultRow& row : throughput_rows) {
    const auto one = std::ranges::find_if(throughput_rows, [&](const ResultRow& other) {
      return other.get("case_id") == row.get("case_id") &&
             other.get("origin") == row.get("origin") && other.get("ranks") == "1" &&
             other.get("rank") == "all";
    });
    if (one == throughput_rows.end()) continue;
    const double ranks = row.get("rank") == "all" ? number_in(row, "ranks") : 1;
    const double ratio = number_in(row, "images_per_s") / (ranks * number_in(*one, "images_per_s"));
    const ByRound alone = column_of(rounds.of(*one), "images_per_s");
    std::vector<double> here, there;
    for (const auto& [round, rate] : column_of(rounds.of(row), "images_per_s")) {
      if (!alone.contains(round)) continue;
      here.push_back(rate);
      there.push_back(alone.at(round));
    }
    const LaunchInterval of_rounds = ratio_of_means(here, there, Sides::in_rounds);
    row.set("relative_to_one_rank", ratio);
    row.set("relative_ci_low", ratio * of_rounds.low / of_rounds.value);
    row.set("relative_ci_high", ratio * of_rounds.high / of_rounds.value);
  }
}

}  // namespace scalebench
