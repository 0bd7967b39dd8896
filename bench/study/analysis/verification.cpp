// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/csv.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

using SamplesOfRank = std::map<std::string, std::vector<const ResultRow*>>;  // "": of all together

std::string samples_key(const ResultRow& row) {
  const std::string ranks = text_in(row, "ranks");
  return row.get("case_id") + "/" + (ranks.empty() ? "1" : ranks);  // kernels have one
}

std::map<std::string, SamplesOfRank> samples_by_case(const LaunchRows& launch) {
  std::map<std::string, SamplesOfRank> by_case;
  for (const ResultRow& row : launch.samples) {
    by_case[samples_key(row)][row.get("rank")].push_back(&row);
  }
  return by_case;
}

std::vector<double> column_of(const std::vector<const ResultRow*>& samples,
                              std::string_view column) {
  std::vector<double> values;
  for (const ResultRow* const sample : samples) values.push_back(number_in(*sample, column));
  return values;
}

void set_times(ResultRow& row, const Summary& summary) {
  const std::string converged = text_in(row, "converged");
  set_statistics(row, summary, false);
  if (row.schema().has("converged")) row.set("converged", converged);
}

std::string most_often_slowest(const std::vector<const ResultRow*>& samples) {
  std::map<int, int> times;
  for (const ResultRow* const sample : samples) {
    const double rank = number_in(*sample, "slowest_rank");
    if (!std::isnan(rank)) ++times[static_cast<int>(rank)];
  }
  if (times.empty()) return "";
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
  return std::to_string(most->first);
}

void set_allreduce(ResultRow& row, const Summary& summary,
                   const std::vector<const ResultRow*>& samples) {
  set_bandwidth(row, summary.median);
  row.set("skew_seconds", median_of(column_of(samples, "skew_seconds")));
  row.set("slowest_rank", most_often_slowest(samples));
}

/// One rank's step, or the slowest rank's with the images of all.
void set_throughput(ResultRow& row, const SamplesOfRank& samples) {
  Summary slowest = summarise({});
  std::size_t sampled = 0;
  double images = 0, images_low = 0, images_high = 0;
  const int ranks = static_cast<int>(number_in(row, "ranks"));
  if (const auto together = samples.find(""); together != samples.end()) {
    // An import's, of all its ranks.
    const Summary steps = summarise(column_of(together->second, "seconds"));
    set_times(row, steps);
    row.set("images_per_s", number_in(row, "batch") * ranks / steps.median);
    return;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto found = samples.find(std::to_string(rank));
    if (found == samples.end()) continue;
    if (row.get("rank") != "all" && row.get("rank") != found->first) continue;
    const Summary one = summarise(column_of(found->second, "seconds"));
    if (sampled++ == 0 || one.median > slowest.median) slowest = one;
    const double sampled_images = number_in(*found->second.back(), "samples");
    const double batch = std::isnan(sampled_images) ? number_in(row, "batch") : sampled_images;
    images += batch / one.median;
    images_low += batch / one.ci_high;
    images_high += batch / one.ci_low;
  }
  set_times(row, slowest);
  if (sampled == 0) images = images_low = images_high = std::nan("");
  row.set("images_per_s", images).set("images_per_s_ci_low", images_low);
  row.set("images_per_s_ci_high", images_high);
  set_joules(row);
}

void set_epoch(ResultRow& row, const std::vector<const ResultRow*>& samples) {
  std::vector<double> joules = column_of(samples, "joules");
  const bool known = std::ranges::none_of(joules, [](double one) { return std::isnan(one); });
  row.set("joules", known ? median_of(joules) : std::nan(""));
  if (samples.empty() || samples.back()->get("test_accuracy").empty()) return;
  row.set("test_accuracy", number_in(*samples.back(), "test_accuracy"));
}

ResultRow recomputed(ResultRow row, const SamplesOfRank& by_rank) {
  const std::string_view file = row.schema().file;
  if (file == throughput_schema().file) {
    set_throughput(row, by_rank);
    return row;
  }
  const std::string rank = text_in(row, "rank");
  const auto found = by_rank.find(rank == "all" ? "" : rank);
  const std::vector<const ResultRow*> none;
  const auto& samples = found == by_rank.end() ? none : found->second;
  const Summary summary = summarise(column_of(samples, "seconds"));
  set_times(row, summary);
  if (file == allreduce_schema().file) set_allreduce(row, summary, samples);
  if (file == epoch_schema().file) set_epoch(row, samples);
  if (file == kernels_schema().file) set_kernel_rates(row, summary.median);
  return row;
}

/// The launch's case rows once more, in their order, with every column that follows from samples
/// (times, rates, skew) made anew; the others are as they were. Rows without a time stay as they
/// are.
std::vector<ResultRow> recomputed_rows(const LaunchRows& launch) {
  const std::map<std::string, SamplesOfRank> samples = samples_by_case(launch);
  std::vector<ResultRow> rows;
  for (const ResultRow& row : launch.cases) {
    if (row.get(time_column(row.schema())).empty()) {
      rows.push_back(row);
      continue;
    }
    const auto found = samples.find(samples_key(row));
    rows.push_back(recomputed(row, found == samples.end() ? SamplesOfRank() : found->second));
  }
  return rows;
}

/// Of numbers that are about equal: rounding leaves more than a part in 1e9 of it.
bool is_difference(std::string_view file, std::string_view column) {
  return file == losses_schema().file || column == "lost_seconds" || column == "karp_flatt" ||
         column.find("residual") != std::string_view::npos;
}

/// Another compiler may round the last digits otherwise, and what cancels to nothing with them.
bool equal(const std::string& a, const std::string& b, bool cancels) {
  if (a == b) return true;
  const auto x = read_number<double>(a), y = read_number<double>(b);
  if (!x || !y) return false;
  constexpr double kRounding = 1e-9, kNothing = 1e-14;
  const double near = kRounding * std::max(std::abs(*x), std::abs(*y));
  return std::abs(*x - *y) <= (cancels ? std::max(near, kNothing) : near);
}

std::string name_of_row(const ResultRow& row) {
  const std::string label = row.schema().has("label") ? row.get("label") : label_of(row);
  const std::string rank = text_in(row, "rank");
  std::string part;
  for (const char* const column : {"loss", "strategy"}) {
    if (const std::string text = text_in(row, column); !text.empty()) part += " " + text;
  }
  return fmt::format("case {} ({}{}{})", text_in(row, "case_id"), label,
                     rank.empty() ? "" : " rank " + rank, part);
}

/// The rows by their names; equal names are numbered.
std::map<std::string, ResultRow> by_name(const std::vector<ResultRow>& rows) {
  std::map<std::string, ResultRow> named;
  std::map<std::string, int> times;
  for (const ResultRow& row : rows) {
    const std::string name = name_of_row(row);
    named.emplace(fmt::format("{} {}", name, times[name]++), row);
  }
  return named;
}

void compare_cells_of(const std::string& file, const ResultRow& published, const ResultRow& again,
                      Verification& into) {
  const auto& columns = published.schema().columns;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::string& was = published.cells()[k];
    const std::string& is = again.cells()[k];
    if (read_number<double>(was) || read_number<double>(is)) ++into.numbers;
    if (!equal(was, is, is_difference(published.schema().file, columns[k]))) {
      into.differences.push_back({file, name_of_row(published), columns[k], was, is});
    }
  }
}

std::size_t samples_of(const StoredRun& run) {
  std::size_t samples = 0;
  for (const auto& [file, launches] : run.launches) {
    for (const LaunchRows& launch : launches) samples += launch.samples.size();
  }
  return samples;
}

/// Adds how rows that were made again differ from what stands in a file, by their names.
void compare_rows(const std::string& label, const std::vector<ResultRow>& in_file,
                  const std::vector<ResultRow>& recomputed, Verification& into) {
  const std::map<std::string, ResultRow> published = by_name(in_file);
  const std::map<std::string, ResultRow> again = by_name(recomputed);
  for (const auto& [key, row] : published) {
    const auto found = again.find(key);
    if (found == again.end()) {
      into.differences.push_back({label, name_of_row(row), "", "this row", ""});
    } else {
      compare_cells_of(label, row, found->second, into);
    }
  }
  for (const auto& [key, row] : again) {
    if (!published.contains(key)) {
      into.differences.push_back({label, name_of_row(row), "", "", "this row"});
    }
  }
}

/// Each launch's own rows.
void verify_launches(const StoredRun& run, Verification& into) {
  const bool alone = !fs::exists(run.folder / kLaunches);
  for (const auto& [file, launches] : run.launches) {
    for (const LaunchRows& launch : launches) {
      const std::string label =
          alone ? file : fmt::format("{}/{}: launch {}", kLaunches, file, launch.launch);
      compare_rows(label, launch.cases, recomputed_rows(launch), into);
    }
  }
}

}  // namespace

std::string line_of(const Difference& difference) {
  if (difference.row.empty()) return difference.file;  // the file as a whole, and what is wrong
  const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
  return fmt::format("{}: {}: {}{}published {}, recomputed {}", difference.file, difference.row,
                     difference.column, difference.column.empty() ? "" : ": ",
                     shown(difference.published), shown(difference.recomputed));
}

Verification verify_rows(const StoredRun& run, const FitModel& model) {
  Verification verification;
  verification.samples = samples_of(run);
  if (run.launches.empty()) {
    verification.notes.emplace_back("no launch has rows: there is nothing to recompute");
    return verification;
  }
  if (!fs::exists(csv_file(run.folder / samples_schema().file))) {
    verification.notes.emplace_back("samples.csv is not there: nothing can be recomputed");
    return verification;
  }
  verify_launches(run, verification);
  if (!fs::exists(run.folder / kLaunches)) return verification;
  if (run.manifest.finished_utc.empty()) {
    verification.notes.emplace_back("the run has not ended: nothing is published yet");
    return verification;
  }
  const fs::path& folder = run.folder;
  const StudyTables tables = study_tables(
      run, run.manifest.import ? std::vector<PlannedLaunch>() : read_plan(folder).launches, model);
  for (const Schema* const schema : study_table_schemas()) {
    const auto table = tables.find(schema->file);
    const std::vector<ResultRow> none;
    const auto& expected = table == tables.end() ? none : table->second;
    compare_rows(std::string(schema->file), rows_in(folder, *schema), expected, verification);
  }
  return verification;
}

}  // namespace scalebench
