// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/stored_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

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

/// What launches flush row by row.
std::vector<const Schema*> kept_schemas() {
  std::vector<const Schema*> kept{&samples_schema(), &monitor_schema(), &hosts_schema()};
  kept.insert(kept.end(), case_schemas().begin(), case_schemas().end());
  return kept;
}

/// As a launch wrote it, with the number of the launch before each row that does not have it.
const Schema& of_all_launches(const Schema& schema) {
  if (schema.has("launch")) return schema;
  static std::map<std::string_view, Schema> made;
  const auto [found, is_new] = made.try_emplace(schema.file, Schema{schema.file, {}});
  if (is_new) {
    found->second.columns.push_back("launch");
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      found->second.columns.push_back(schema.columns[i] + (schema.columns.is_text(i) ? "$" : ""));
    }
  }
  return found->second;
}

/// Where the rows of all launches stand: repetitions in the run's own folder, and cases, of which
/// that has one row over all launches, in launches/.
fs::path folder_of(const fs::path& run, const Schema& schema) {
  return schema.has("launch") ? run : run / kLaunches;
}

ResultRow with_launch(ResultRow row, int number) {
  const Schema& schema = of_all_launches(row.schema());
  if (&schema == &row.schema()) return row;
  std::vector<std::string> cells{std::to_string(number)};
  cells.insert(cells.end(), row.cells().begin(), row.cells().end());
  return {schema, std::move(cells)};
}

ResultRow without_launch(const ResultRow& row, const Schema& schema) {
  if (&schema == &row.schema()) return row;
  return {schema, {row.cells().begin() + 1, row.cells().end()}};
}

/// By launch.
using RowsByLaunch = std::map<int, std::vector<ResultRow>>;

fs::path folder_of(const fs::path& run, const LaunchRecord& record) {
  return launch_folder(run, record.number, record.name, record.attempt);
}

/// Rows of that schema: of a launch whose own file is still there those, else those that the run
/// has. A program that wrote its folder alone is launch 0. `torn` gets a line for each file without
/// its last line.
RowsByLaunch rows_of_launches(const fs::path& run, const Manifest& manifest, const Schema& schema,
                              std::vector<std::string>& torn) {
  RowsByLaunch rows;
  const auto read = [&](const fs::path& folder, const Schema& its) {
    bool is_torn = false;
    std::vector<ResultRow> found = rows_in(folder, its, &is_torn);
    if (is_torn) torn.push_back(torn_text(folder / its.file));
    return found;
  };
  if (!fs::exists(run / kLaunches)) {
    if (auto alone = read(run, schema); !alone.empty()) rows[0] = std::move(alone);
    return rows;
  }
  std::set<int> kept;  // launches whose rows the run has
  for (const LaunchRecord& record : manifest.launches) {
    const fs::path own = folder_of(run, record);
    if (!fs::exists(own / schema.file)) {
      kept.insert(record.number);
    } else if (auto flushed = read(own, schema); !flushed.empty()) {
      for (ResultRow& row : flushed) {
        if (schema.has("entry")) row.set("entry", record.name);
      }
      rows[record.number] = std::move(flushed);
    }
  }
  for (const ResultRow& row : read(folder_of(run, schema), of_all_launches(schema))) {
    const int number = static_cast<int>(number_in(row, "launch"));
    if (kept.contains(number)) rows[number].push_back(without_launch(row, schema));
  }
  return rows;
}

void write_rows(const fs::path& run, const Schema& schema, RowsByLaunch rows) {
  std::vector<ResultRow> all;
  for (auto& [number, its] : rows) {
    for (ResultRow& row : its) all.push_back(with_launch(std::move(row), number));
  }
  fs::create_directories(folder_of(run, schema));
  replace_rows(folder_of(run, schema), of_all_launches(schema), all);
}

bool has(const std::vector<LaunchRecord>& records, int number, int attempt) {
  return std::ranges::any_of(records, [&](const LaunchRecord& record) {
    return record.number == number && record.attempt == attempt;
  });
}

/// Nothing is left to say in the folder of a launch that ended well, but for what it was told to
/// record and what it warned of. It stays where no room is left for that.
void close_folder(const fs::path& run, const fs::path& own) {
  const fs::path warned = own / "stderr.log";
  if (fs::exists(warned) && fs::file_size(warned) > 0) {
    std::ofstream all(run / kLaunches / "stderr.log", std::ios::app);
    all << own.filename().string() << ":\n" << read_file(warned) << std::flush;
    if (!all) return;
  }
  if (fs::exists(own / kTraceFile)) fs::rename(own / kTraceFile, own.string() + ".trace.json");
  fs::remove_all(own);
}

}  // namespace

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

fs::path launch_folder(const fs::path& run, int number, const std::string& name, int attempt) {
  const std::string again = attempt == 1 ? "" : fmt::format(".attempt{}", attempt);
  return run / kLaunches / fmt::format("{:03}-{}{}", number, name, again);
}

int next_attempt(const fs::path& run, int number, const std::string& name) {
  int attempt = 1;
  while (fs::exists(launch_folder(run, number, name, attempt))) ++attempt;
  return attempt;
}

std::vector<std::string> keep_launches(const fs::path& run, const Manifest& manifest) {
  std::vector<std::string> torn;
  for (const Schema* const schema : kept_schemas()) {
    write_rows(run, *schema, rows_of_launches(run, manifest, *schema, torn));
  }
  for (const LaunchRecord& record : manifest.launches) {
    const fs::path own = folder_of(run, record);
    if (record.status == "ok" && fs::exists(own)) close_folder(run, own);
  }
  return torn;
}

void write_launch_rows(const fs::path& run, const std::vector<LaunchRows>& launches) {
  RowsByLaunch samples;
  std::map<const Schema*, RowsByLaunch> cases;
  for (const LaunchRows& launch : launches) {
    samples[launch.launch] = launch.samples;
    if (!launch.cases.empty()) cases[&launch.cases[0].schema()][launch.launch] = launch.cases;
  }
  write_rows(run, samples_schema(), std::move(samples));
  for (auto& [schema, rows] : cases) write_rows(run, *schema, std::move(rows));
}

std::vector<std::string> recover_run(const fs::path& run, const std::vector<PlannedLaunch>& plan,
                                     Manifest& manifest) {
  std::vector<std::string> found;
  remove_temporary_files(run);
  for (const PlannedLaunch& launch : plan) {
    const int next = next_attempt(run, launch.number, launch.name);
    for (int attempt = 1; attempt < next; ++attempt) {
      const fs::path folder = launch_folder(run, launch.number, launch.name, attempt);
      remove_temporary_files(folder);
      if (has(manifest.launches, launch.number, attempt)) continue;
      if (has(manifest.superseded, launch.number, attempt)) continue;
      LaunchRecord& record = manifest.superseded.emplace_back();
      record.number = launch.number;
      record.name = launch.name;
      record.attempt = attempt;
      record.status = "interrupted";
      record.note = "it had not ended when the run was interrupted";
      found.push_back(fmt::format("launch {} had not ended; what it measured is kept in {}",
                                  launch.number, folder.lexically_relative(run).string()));
    }
  }
  std::ranges::move(keep_launches(run, manifest), std::back_inserter(found));
  return found;
}

std::string csv_text(const Schema& schema, const std::vector<ResultRow>& rows) {
  std::string text = csv_line(schema.columns);
  for (const ResultRow& row : rows) text += csv_line(row.cells());
  return text;
}

void replace_rows(const fs::path& folder, const Schema& schema,
                  const std::vector<ResultRow>& rows) {
  const fs::path path = folder / schema.file;
  if (rows.empty()) {
    fs::remove(path);
    return;
  }
  write_file_atomically(path, csv_text(schema, rows));
}

const std::vector<LaunchRows>& StoredRun::launches_of(const Schema& schema) const {
  static const std::vector<LaunchRows> kNone;
  const auto found = launches.find(schema.file);
  return found == launches.end() ? kNone : found->second;
}

const std::vector<const Schema*>& case_schemas() {
  static const std::vector<const Schema*> schemas{&allreduce_schema(), &throughput_schema(),
                                                  &epoch_schema(), &kernels_schema()};
  return schemas;
}

namespace {

/// The round of each launch, from 0: as planned; of a run without a plan, how many launches of that
/// name came before it. Of an import the round of its file, which may have none.
std::map<int, int> rounds_in(const fs::path& run, const Manifest& manifest) {
  std::map<int, int> rounds;
  if (fs::exists(run / kPlanFile)) {
    for (const PlannedLaunch& launch : read_plan(run).launches) {
      rounds[launch.number] = launch.round;
    }
    return rounds;
  }
  std::map<std::string, int> before;
  for (const LaunchRecord& launch : manifest.launches) {
    rounds[launch.number] = manifest.import ? launch.number : before[launch.name]++;
  }
  for (const ImportRecord::File& file : manifest.import.value_or(ImportRecord()).files) {
    for (const int launch : file.launches) {
      if (file.round) rounds[launch] = *file.round;
    }
  }
  return rounds;
}

}  // namespace

std::map<int, fs::path> traces_of(const fs::path& run) {
  std::map<int, fs::path> traces;
  if (!fs::exists(run / kLaunches)) return traces;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / kLaunches)) {
    const std::string name = entry.path().filename().string();
    const auto number = read_number<int>(name.substr(0, name.find('-')));
    if (number && name.ends_with(".trace.json")) traces[*number] = entry.path();
  }
  return traces;
}

StoredRun read_stored_run(const fs::path& folder, WithSamples samples) {
  StoredRun run{folder, read_manifest(folder), {}};
  const auto rows_of = [&](const Schema& schema) {
    return rows_of_launches(folder, run.manifest, schema, run.torn);
  };
  RowsByLaunch of_launch;
  if (samples == WithSamples::yes) of_launch = rows_of(samples_schema());
  std::map<int, int> rounds = rounds_in(folder, run.manifest);
  for (const Schema* const schema : case_schemas()) {
    for (auto& [number, cases] : rows_of(*schema)) {
      LaunchRows rows{number, std::move(cases), std::move(of_launch[number]), rounds[number]};
      run.launches[std::string(schema->file)].push_back(std::move(rows));
    }
  }
  for (auto& [number, rows] : rows_of(hosts_schema())) {
    std::ranges::move(rows, std::back_inserter(run.hosts));
  }
  return run;
}

}  // namespace scalebench
