// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/stored_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttempt = ".attempt";

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

ResultRow with_launch(const ResultRow& row, int number) {
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

/// A folder below RUN/launches.
struct LaunchFolder {
  int number = 0;
  std::string name;  // "allreduce-n2"
  int attempt = 1;   // which start of the launch; only the one in the manifest counts
  fs::path path;
};

/// "003-allreduce-n2", "003-allreduce-n2.attempt1"; nothing for another name.
std::optional<LaunchFolder> parsed(const fs::path& path) {
  const std::string text = path.filename().string();
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::size_t mark = std::min(text.rfind(kAttempt), text.size());
  const auto number = read_number<int>(text.substr(0, dash));
  const bool has_attempt = mark < text.size() && mark > dash;
  const auto attempt =
      has_attempt ? read_number<int>(text.substr(mark + kAttempt.size())) : std::optional(1);
  if (!number || !attempt || dash == text.size()) return std::nullopt;
  const std::size_t end = has_attempt ? mark : text.size();
  return LaunchFolder{*number, text.substr(dash + 1, end - dash - 1), *attempt, path};
}

/// All that are there, by number and attempt. Throws UsageError for a folder that is none.
std::vector<LaunchFolder> launch_folders(const fs::path& run) {
  std::vector<LaunchFolder> folders;
  if (!fs::exists(run / kLaunches)) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / kLaunches)) {
    if (entry.is_regular_file()) continue;
    std::optional<LaunchFolder> folder = parsed(entry.path());
    if (!folder || entry.is_symlink() || !entry.is_directory()) {
      fail<UsageError>("{}: no folder of a launch", entry.path().string());
    }
    folders.push_back(std::move(*folder));
  }
  std::ranges::sort(folders, {}, [](const LaunchFolder& folder) {
    return std::pair(folder.number, folder.attempt);
  });
  return folders;
}

bool is_of(const ResultRow& row, int number) { return row.get("launch") == std::to_string(number); }

/// Since 1970, when the first launch of these rows began; nothing where there is none.
std::optional<double> monitor_begin(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return std::nullopt;
  return number_in(rows.front(), "utc_seconds") - number_in(rows.front(), "seconds");
}

/// From the launch's own beginning to the run's. Only that is of the clock that may be set.
void count_from_the_first(const fs::path& run, std::vector<ResultRow>& rows) {
  const std::optional<double> own = monitor_begin(rows);
  const double later = *own - monitor_begin(rows_in(run, monitor_schema())).value_or(*own);
  for (ResultRow& row : rows) {
    const double seconds = number_in(row, "seconds") + later;
    row.set("seconds", std::round(1e3 * seconds) / 1e3);
  }
}

/// Takes the rows of a launch out of the run's file; `taken` gets them.
void take_out(const fs::path& run, const Schema& schema, int number,
              std::vector<ResultRow>& taken) {
  const Schema& of_all = of_all_launches(schema);
  std::vector<ResultRow> others;
  for (ResultRow& row : rows_in(folder_of(run, schema), of_all)) {
    (is_of(row, number) ? taken : others).push_back(std::move(row));
  }
  if (!taken.empty()) replace_rows(folder_of(run, schema), of_all, others);
}

void append(const fs::path& run, const Schema& schema, const std::vector<ResultRow>& rows,
            int number) {
  fs::create_directories(folder_of(run, schema));
  CsvWriter file(folder_of(run, schema) / schema.file, of_all_launches(schema).columns);
  for (const ResultRow& row : rows) file.append(with_launch(row, number).cells());
  file.sync();
}

void keep(const fs::path& run, const LaunchFolder& own, const Schema& schema,
          std::vector<std::string>& torn) {
  if (!fs::exists(own.path / schema.file)) return;
  bool is_torn = false;
  std::vector<ResultRow> rows = rows_in(own.path, schema, &is_torn);
  if (is_torn) torn.push_back(torn_text(own.path.filename() / schema.file));
  if (!rows.empty()) {
    if (&schema == &monitor_schema()) count_from_the_first(run, rows);
    for (ResultRow& row : rows) {
      if (schema.has("entry")) row.set("entry", own.name);
    }
    append(run, schema, rows, own.number);
  }
  fs::remove(own.path / schema.file);
}

/// The rows of a launch that is to be started again go back into its folder.
void give_back(const fs::path& run, const fs::path& own, int number) {
  for (const Schema* const schema : kept_schemas()) {
    std::vector<ResultRow> rows;
    for (const ResultRow& row : rows_in(folder_of(run, *schema), of_all_launches(*schema))) {
      if (is_of(row, number)) rows.push_back(without_launch(row, *schema));
    }
    if (rows.empty()) continue;
    if (!fs::exists(own / schema->file)) replace_rows(own, *schema, rows);
    rows.clear();
    take_out(run, *schema, number, rows);
  }
}

const LaunchRecord* record_of(const Manifest& manifest, int number) {
  const auto found = std::ranges::find(manifest.launches, number, &LaunchRecord::number);
  return found == manifest.launches.end() ? nullptr : &*found;
}

bool is_superseded(const Manifest& manifest, const LaunchFolder& folder) {
  return std::ranges::any_of(manifest.superseded, [&](const LaunchRecord& record) {
    return record.number == folder.number && record.attempt == folder.attempt;
  });
}

void enter_superseded(Manifest& manifest, const LaunchFolder& folder) {
  LaunchRecord& record = manifest.superseded.emplace_back();
  record.number = folder.number;
  record.name = folder.name;
  record.attempt = folder.attempt;
  record.status = "interrupted";
  record.note = "it had not ended when the run was interrupted";
}

/// As keep_rows, where a killed writer may have appended some of them.
std::vector<std::string> keep_rows_again(const fs::path& run, const LaunchFolder& folder) {
  for (const Schema* const schema : kept_schemas()) {
    std::vector<ResultRow> twice;
    if (fs::exists(folder.path / schema->file)) take_out(run, *schema, folder.number, twice);
  }
  return keep_rows(run, folder.path);
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

/// The rows of the run's samples.csv, by launch.
std::map<int, std::vector<ResultRow>> samples_in(const fs::path& run) {
  std::map<int, std::vector<ResultRow>> by_launch;
  for (ResultRow& row : rows_in(run, samples_schema())) {
    by_launch[static_cast<int>(number_in(row, "launch"))].push_back(std::move(row));
  }
  return by_launch;
}

}  // namespace

std::string launch_folder_name(const std::string& name, int attempt) {
  return attempt == 1 ? name : fmt::format("{}{}{}", name, kAttempt, attempt);
}

fs::path launch_folder(const fs::path& run, int number, const std::string& name, int attempt) {
  return run / "launches" / fmt::format("{:03}-{}", number, launch_folder_name(name, attempt));
}

int next_attempt(const fs::path& run, int number, const std::string& name) {
  int attempt = 1;
  while (fs::exists(launch_folder(run, number, name, attempt))) ++attempt;
  return attempt;
}

std::vector<std::string> keep_rows(const fs::path& run, const fs::path& launch) {
  std::vector<std::string> torn;
  for (const Schema* const schema : kept_schemas()) keep(run, *parsed(launch), *schema, torn);
  return torn;
}

void add_launch_rows(const fs::path& run, const LaunchRows& launch) {
  if (!launch.cases.empty()) append(run, launch.cases[0].schema(), launch.cases, launch.launch);
}

std::vector<std::string> keep_launch(const fs::path& run, const fs::path& launch) {
  const std::vector<std::string> torn = keep_rows(run, launch);
  close_folder(run, launch);
  return torn;
}

std::vector<std::string> recover_run(const fs::path& run, Manifest& manifest) {
  std::vector<std::string> found;
  remove_temporary_files(run);
  // Later attempts first: what the run's files have of a launch without a record is of its last.
  std::vector<LaunchFolder> folders = launch_folders(run);
  std::ranges::reverse(folders);
  int last_number = -1;
  for (const LaunchFolder& folder : folders) {
    remove_temporary_files(folder.path);
    const bool is_last = folder.number != last_number;
    last_number = folder.number;
    const LaunchRecord* const record = record_of(manifest, folder.number);
    if (record != nullptr && record->attempt == folder.attempt) {
      std::ranges::move(keep_rows_again(run, folder), std::back_inserter(found));
      if (record->status == "ok") close_folder(run, folder.path);
      continue;
    }
    if (record == nullptr && is_last) give_back(run, folder.path, folder.number);
    if (is_superseded(manifest, folder)) continue;
    enter_superseded(manifest, folder);
    found.push_back(fmt::format("launch {} had not ended; what it measured is kept in {}",
                                folder.number, folder.path.lexically_relative(run).string()));
  }
  return found;
}

std::string csv_text(const Schema& schema, const std::vector<ResultRow>& rows) {
  std::vector<const std::vector<std::string>*> cells;
  for (const ResultRow& row : rows) cells.push_back(&row.cells());
  return csv_text(schema.columns, cells);
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
/// name came before it. An import's launches, which are files, share none.
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
  return rounds;
}

/// The case rows of that schema, by launch. A program that wrote its folder alone is launch 0.
std::map<int, std::vector<ResultRow>> cases_in(StoredRun& run, const Schema& schema) {
  const bool alone = !fs::exists(run.folder / kLaunches);
  const fs::path folder = alone ? run.folder : folder_of(run.folder, schema);
  bool is_torn = false;
  std::map<int, std::vector<ResultRow>> by_launch;
  for (ResultRow& row : rows_in(folder, alone ? schema : of_all_launches(schema), &is_torn)) {
    if (alone) {
      by_launch[0].push_back(std::move(row));
    } else {
      const int launch = static_cast<int>(number_in(row, "launch"));
      by_launch[launch].push_back(without_launch(row, schema));
    }
  }
  if (is_torn) run.torn.push_back(torn_text(folder / schema.file));
  return by_launch;
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
  std::map<int, std::vector<ResultRow>> of_launch;
  if (samples == WithSamples::yes) of_launch = samples_in(folder);
  std::map<int, int> rounds = rounds_in(folder, run.manifest);
  for (const Schema* const schema : case_schemas()) {
    for (auto& [number, cases] : cases_in(run, *schema)) {
      LaunchRows rows{number, std::move(cases), std::move(of_launch[number]), rounds[number]};
      run.launches[std::string(schema->file)].push_back(std::move(rows));
    }
  }
  for (auto& [number, rows] : cases_in(run, hosts_schema())) {
    std::ranges::move(rows, std::back_inserter(run.hosts));
  }
  return run;
}

}  // namespace scalebench
