// SPDX-License-Identifier: Apache-2.0
#include "bench/study/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "bench/record/csv.hpp"
#include "bench/study/cell.hpp"
#include "bench/study/launch_statistics.hpp"
#include "bench/study/plan_file.hpp"
#include "bench/study/study_tables.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// Columns that tell one row of a file from the others.
constexpr std::array<std::string_view, 15> kKey{
    "case_id",    "ranks",     "rank",  "transport", "memory",
    "size_bytes", "algorithm", "model", "scaling",   "gradient_sync",
    "allreduce",  "dataset",   "batch", "rung",      "nodes"};

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Another compiler may round the last digits otherwise, and what cancels to nothing with them.
bool equal(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<double> x = number_of(a), y = number_of(b);
  if (!x || !y) return false;
  constexpr double kRounding = 1e-9, kNothing = 1e-14;
  return std::abs(*x - *y) <= std::max(kRounding * std::max(std::abs(*x), std::abs(*y)), kNothing);
}

std::string name_of_row(const ResultRow& row) {
  const std::string label = label_of(row);
  const std::string rank = text_in(row, "rank"), rung = text_in(row, "rung");
  return fmt::format("case {} ({}{}{})", row.get("case_id"), label,
                     rank.empty() ? "" : " rank " + rank, rung.empty() ? "" : " rung " + rung);
}

/// The rows by their keys; equal keys are numbered.
std::map<std::string, ResultRow> by_key(const std::vector<ResultRow>& rows) {
  std::map<std::string, ResultRow> keyed;
  std::map<std::string, int> times;
  for (const ResultRow& row : rows) {
    std::string key;
    for (const std::string_view column : kKey) key += text_in(row, column) + "\n";
    key += std::to_string(times[key]++);
    keyed.emplace(key, row);
  }
  return keyed;
}

void compare_cells_of(const std::string& file, const ResultRow& published, const ResultRow& again,
                      const std::vector<bool>& has, Verification& into) {
  const auto& columns = published.schema().columns;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (!has[k]) continue;
    const std::string& was = published.cells()[k];
    const std::string& is = again.cells()[k];
    if (number_of(was) || number_of(is)) ++into.numbers;
    if (!equal(was, is)) {
      into.differences.push_back({file, name_of_row(published), columns[k], was, is});
    }
  }
}

/// Which columns of the schema the file has.
std::vector<bool> columns_in(const fs::path& path, const Schema& schema) {
  std::vector<bool> has(schema.columns.size(), false);
  if (!fs::exists(path)) return has;
  const CsvTable table = CsvTable::read(path);
  for (std::size_t k = 0; k < has.size(); ++k) has[k] = table.has(schema.columns[k]);
  return has;
}

std::size_t samples_of(const StoredRun& run) {
  std::size_t samples = 0;
  for (const auto& [file, launches] : run.launches) {
    for (const LaunchRows& launch : launches) samples += launch.samples.size();
  }
  return samples;
}

/// Each launch's own case file.
void verify_launches(const StoredRun& run, const FitModel& model, Verification& into) {
  for (const auto& [file, launches] : run.launches) {
    for (const LaunchRows& launch : launches) {
      const fs::path folder = run.folders.at(launch.launch).path;
      const std::string label = (folder / file).lexically_relative(run.folder).generic_string();
      const Schema& schema = launch.cases.front().schema();
      compare_rows(folder, label, schema, recomputed_rows(launch, model), into);
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

void compare_rows(const fs::path& folder, const std::string& label, const Schema& schema,
                  const std::vector<ResultRow>& recomputed, Verification& into) {
  const std::map<std::string, ResultRow> published = by_key(rows_in(folder, schema));
  const std::map<std::string, ResultRow> again = by_key(recomputed);
  const std::vector<bool> has = columns_in(folder / schema.file, schema);
  for (const auto& [key, row] : published) {
    const auto found = again.find(key);
    if (found == again.end()) {
      into.differences.push_back({label, name_of_row(row), "", "this row", ""});
    } else {
      compare_cells_of(label, row, found->second, has, into);
    }
  }
  for (const auto& [key, row] : again) {
    if (!published.contains(key)) {
      into.differences.push_back({label, name_of_row(row), "", "", "this row"});
    }
  }
}

Verification verify_rows(StoredRun run, const FitModel& model) {
  Verification verification;
  verification.samples = samples_of(run);
  if (run.launches.empty()) {
    verification.notes.emplace_back("no launch has rows: there is nothing to recompute");
    return verification;
  }
  if (!fs::exists(run.folder / samples_schema().file)) {
    verification.notes.emplace_back("samples.csv is not there: nothing can be recomputed");
    return verification;
  }
  verify_launches(run, model, verification);
  if (!fs::exists(run.folder / "launches")) return verification;
  if (run.manifest.finished_utc.empty()) {
    verification.notes.emplace_back("the run has not ended: nothing is published yet");
    return verification;
  }
  const bool has_plan = fs::exists(run.folder / kPlanFile);
  if (!has_plan) {
    verification.notes.emplace_back(
        "plan.json is not there (a run of an earlier version): the plan is read from the manifest");
  }
  const fs::path folder = run.folder;
  const std::vector<PlannedLaunch> plan =
      has_plan ? read_plan(folder).launches : plan_of_manifest(run);
  const StudyRows rows = study_rows_of(std::move(run), plan);
  const StudyTables tables = study_tables(rows, model);
  for (const Schema* const schema : study_table_schemas()) {
    const auto table = tables.find(schema->file);
    const std::vector<ResultRow> none;
    const auto& expected = table == tables.end() ? none : table->second;
    const bool is_published = fs::exists(folder / schema->file);
    if (!is_published && !has_plan && !expected.empty()) {
      verification.notes.push_back(
          fmt::format("{} is not there: an earlier version made none", schema->file));
      continue;
    }
    compare_rows(folder, std::string(schema->file), *schema, expected, verification);
  }
  return verification;
}

}  // namespace scalebench
