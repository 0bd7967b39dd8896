// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_run.hpp"

#include <algorithm>
#include <cmath>

#include "bench/record/case_id.hpp"
#include "bench/record/managed_job.hpp"
#include "bench/study/fit_rows.hpp"
#include "bench/study/ladder_rows.hpp"
#include "bench/study/scaling_rows.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// The value that follows an option in a launch's arguments.
std::string argument(const PlannedLaunch& launch, std::string_view option) {
  const auto found = std::ranges::find(launch.arguments, option);
  return found == launch.arguments.end() ? "" : *std::next(found);
}

/// Whether a launch was meant to give this row (beside others of its repeated launches).
bool belongs(const ResultRow& row, const PlannedLaunch& launch) {
  if (row.get("ranks") != std::to_string(launch.ranks)) return false;
  const auto& columns = row.schema().columns;
  const auto same = [&](std::string_view column, const std::string& value) {
    const bool has = std::ranges::find(columns, column) != columns.end();
    return !has || value.empty() || row.get(column) == value;
  };
  // One rank's share of an epoch is a case of its own.
  const std::string share = argument(launch, "--share-of");
  if (!same("share_of", share.empty() ? "1" : share)) return false;
  return same("model", argument(launch, "--model")) &&
         same("gradient_sync", launch.gradient_sync) &&
         same("scaling", argument(launch, "--scaling"));
}

/// What an algorithm's own line says; elements for bytes.
AllreduceWork cost_of(std::string_view algorithm, double p, double n, double g) {
  const AllreduceCost cost = allreduce_named(algorithm).cost(p, n, g);
  return {cost.steps, cost.sent, cost.reduced};
}

/// What a launch may take before it counts as stuck.
double deadline(double expected) { return std::max(60.0, 5 * expected); }

}  // namespace

const Schema& schema_of_program(const std::string& program) {
  if (program == "bench_allreduce") return allreduce_schema();
  if (program == "bench_throughput") return throughput_schema();
  if (program == "bench_epoch") return epoch_schema();
  fail("no result file is known for {}", program);
}

StudyRun::StudyRun(ResultsFolder folder, std::vector<PlannedLaunch> plan, LaunchSettings settings,
                   Manifest manifest, Console& console)
    : folder_(std::move(folder)),
      plan_(std::move(plan)),
      settings_(std::move(settings)),
      manifest_(std::move(manifest)),
      console_(console),
      samples_(folder_.path() / samples_schema().file, samples_schema().columns) {
  write_manifest(folder_.path(), manifest_);
}

double StudyRun::expected_seconds(const PlannedLaunch& launch) const {
  const auto found = seconds_of_.find(launch.name);
  if (found == seconds_of_.end()) return launch.guess_seconds;
  return *std::ranges::max_element(found->second);
}

double StudyRun::seconds_left(std::size_t next) const {
  double left = 0;
  for (std::size_t i = next; i < plan_.size(); ++i) {
    if (plan_[i].skipped_because.empty()) left += expected_seconds(plan_[i]);
  }
  return left;
}

void StudyRun::measure(const std::atomic<bool>& stop) {
  for (std::size_t i = 0; i < plan_.size() && !stop; ++i) {
    console_.progress(i + 1, plan_.size(),
                      fmt::format("{} · round {}", plan_[i].name, plan_[i].round + 1),
                      seconds_left(i));
    measure_one(plan_[i], stop);
    write_manifest(folder_.path(), manifest_);
  }
  console_.clear_progress();
}

void StudyRun::measure_one(const PlannedLaunch& launch, const std::atomic<bool>& stop) {
  LaunchRecord record;
  record.number = launch.number;
  record.program = launch.program;
  record.ranks = launch.ranks;
  if (!launch.skipped_because.empty()) {
    record.status = "skipped";
    record.note = launch.skipped_because;
    manifest_.launches.push_back(record);
    lost_.emplace_back(launch, "skipped: " + launch.skipped_because);
    return;
  }
  // As typed from here: a command with another machine's absolute path helps nobody.
  const std::filesystem::path folder =
      std::filesystem::proximate(folder_.make_launch(launch.number, launch.name));
  record.command = command_of(launch, settings_, folder);
  const LaunchEnd end =
      run_launch(record.command, settings_, folder, deadline(expected_seconds(launch)), stop);
  record.seconds = end.seconds;
  record.status = end.ok ? "ok" : "failed";
  record.note = end.why;
  manifest_.launches.push_back(record);
  keep(launch, folder);
  if (end.ok) {
    ++measured_;
    seconds_of_[launch.name].push_back(end.seconds);
  } else if (!end.interrupted) {
    ++failed_;
    lost_.emplace_back(launch, end.why);
    console_.warn(fmt::format("launch {} ({}) failed: {}", launch.number, launch.name, end.why),
                  (folder / "stderr.log").string());
  }
}

void StudyRun::keep(const PlannedLaunch& launch, const std::filesystem::path& folder) {
  const Schema& schema = schema_of_program(launch.program);
  LaunchRows rows = read_launch(folder, launch.number, schema);
  for (const ResultRow& sample : rows.samples) samples_.append(sample.cells());
  // They stand in the run's samples.csv now; twice would be once too often.
  std::filesystem::remove(folder / samples_schema().file);
  rows_[std::string(schema.file)].push_back(std::move(rows));
  append(accuracy_schema(), folder);
  append(monitor_schema(), folder);
  if (&schema != &allreduce_schema()) return;
  for (ResultRow& row : rows_in(folder, bound_schema())) bounds_.push_back(std::move(row));
  for (ResultRow& row : rows_in(folder, allreduce_ranks_schema())) {
    rank_rows_.push_back(std::move(row));
  }
}

void StudyRun::append(const Schema& schema, const std::filesystem::path& folder) {
  std::vector<ResultRow> rows = rows_in(folder, schema);
  if (rows.empty()) return;
  CsvWriter file(folder_.path() / schema.file, schema.columns);
  for (ResultRow& row : rows) {
    if (&schema == &monitor_schema()) {
      // From the launch's own beginning to the run's.
      const double utc = number_in(row, "utc_seconds");
      if (!begin_utc_seconds_) begin_utc_seconds_ = utc - number_in(row, "seconds");
      row.set("seconds", std::round(1e3 * (utc - *begin_utc_seconds_)) / 1e3);
    }
    file.append(row.cells());
  }
  std::filesystem::remove(folder / schema.file);
}

void StudyRun::note_lost_launches(std::vector<ResultRow>& rows) const {
  for (ResultRow& row : rows) {
    for (const auto& [launch, why] : lost_) {
      const bool its = row.schema().file == schema_of_program(launch.program).file;
      if (!its || row.get("status") != "ok" || !belongs(row, launch)) continue;
      row.set("note", fmt::format("launch {} is not in it: {}", launch.number, why));
    }
  }
}

std::vector<ResultRow> StudyRun::failed_scaling_rows() const {
  std::vector<ResultRow> rows;
  for (const auto& [launch, why] : lost_) {
    if (launch.program != "bench_epoch" || !argument(launch, "--share-of").empty()) continue;
    const auto is_its = [&](const ResultRow& row) { return belongs(row, launch); };
    if (std::ranges::any_of(scaling_, is_its) || std::ranges::any_of(rows, is_its)) continue;
    ResultRow& row = rows.emplace_back(scaling_schema());
    row.set("schema_version", kSchemaVersion).set("run_id", settings_.run_id);
    row.set("case_id", case_id(launch.name)).set("origin", manifest_.origin);
    row.set("status", why.starts_with("skipped: ") ? "skipped" : "failed").set("note", why);
    row.set("model", argument(launch, "--model"))
        .set("gradient_sync", launch.gradient_sync)
        .set("ranks", launch.ranks);
    row.set("scaling", argument(launch, "--scaling"))
        .set("allreduce", argument(launch, "--allreduce"));
  }
  return rows;
}

void StudyRun::fit(const std::vector<ResultRow>& allreduce_rows) {
  const FitModel model{cost_of};
  const std::vector<FitRow> fits = fits_of(points_of(allreduce_rows), model);
  fits_ = fit_rows(fits, settings_.run_id);
  write(fit_schema(), fits_);
  write(fit_points_schema(), fit_point_rows(fits, model, settings_.run_id));
}

void StudyRun::write(const Schema& schema, const std::vector<ResultRow>& rows) const {
  if (rows.empty()) return;
  std::filesystem::remove(folder_.path() / schema.file);
  CsvWriter file(folder_.path() / schema.file, schema.columns);
  for (const ResultRow& row : rows) file.append(row.cells());
}

std::vector<LaunchRows> StudyRun::launches(const Schema& schema) const {
  const auto found = rows_.find(std::string(schema.file));
  return found == rows_.end() ? std::vector<LaunchRows>() : found->second;
}

void StudyRun::summarise() {
  for (const Schema* schema : {&allreduce_schema(), &throughput_schema(), &epoch_schema()}) {
    std::vector<ResultRow> rows = over_launches(rows_[std::string(schema->file)], *schema);
    note_lost_launches(rows);
    if (schema == &throughput_schema()) relate_to_one_rank(rows);
    write(*schema, rows);
    if (schema == &allreduce_schema()) fit(rows);
    if (schema == &epoch_schema()) {
      scaling_ = scaling_rows(rows);
      write(ladder_schema(), ladder_rows(rows, scaling_));
    }
  }
  write(bound_schema(), middle_rows(bounds_, "seconds"));
  write(allreduce_ranks_schema(), middle_rows(rank_rows_, "seconds_median"));
  const std::vector<ResultRow> failed = failed_scaling_rows();
  scaling_.insert(scaling_.end(), failed.begin(), failed.end());
  write(scaling_schema(), scaling_);
}

void StudyRun::seal(const std::string& status) {
  if (!manifest_.job.is_null()) {
    const std::optional<double> billed = container_seconds();
    manifest_.job["billed_seconds"] = billed ? nlohmann::json(*billed) : nlohmann::json();
    manifest_.job["training_seconds"] = training_seconds(manifest_.launches);
  }
  manifest_ = updated(manifest_, folder_.path(), status);
  write_manifest(folder_.path(), manifest_);
}

}  // namespace scalebench
