// SPDX-License-Identifier: Apache-2.0
#include "bench/program/recorder.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "bench/cli/help.hpp"
#include "bench/machine/host_files.hpp"
#include "bench/record/file.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/results_folder.hpp"
#include "collectives/control.hpp"
#include "collectives/seats.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 50'000'000;

/// Collective: by rank the cores that it may run on, of machines that are counted from 0. Several
/// hosts may be one machine.
std::vector<std::vector<Core>> cores_by_rank(const Ranks& ranks) {
  const std::string own = boot_id().empty() ? ranks.session.host() : boot_id();
  const std::vector<std::string> machines = all_gather(ranks.host, own);
  std::vector<std::vector<Core>> usable;
  for (const std::vector<int>& cores : gather_lists(ranks.host, usable_cores())) {
    const auto machine = std::ranges::find(machines, machines[usable.size()]) - machines.begin();
    std::vector<Core>& its = usable.emplace_back();
    for (const int core : cores) its.emplace_back(static_cast<int>(machine), core);
  }
  return usable;
}

/// Of the first rank's machine, by all ranks on it: each may be bound to one of them.
std::size_t cores_together(const std::vector<std::vector<Core>>& by_rank) {
  std::set<Core> together;
  for (const std::vector<Core>& one : by_rank) {
    if (!one.empty() && one.front().first == 0) together.insert(one.begin(), one.end());
  }
  return together.size();
}

/// Collective.
std::vector<RankPlace> placement_of(const Ranks& ranks) {
  const MpiSession& session = ranks.session;
  const std::vector<std::string> hosts = all_gather(ranks.host, session.host());
  const Fact allowed = allowed_cpus();
  const std::vector<std::string> cpus =
      all_gather(ranks.host, allowed.value.is_string() ? allowed.value.get<std::string>() : "");
  const std::vector<double> gpus = all_gather(ranks.host, device_count());
  std::vector<RankPlace> places;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    places.push_back({hosts[rank], cpus[rank], static_cast<int>(gpus[rank])});
  }
  return places;
}

}  // namespace

void add_record_options(CLI::App& app, RecordOptions& options) {
  app.add_option("--out", options.out, "also write CSVs and a manifest into this new folder")
      ->type_name("DIR");
  app.add_flag("--places", options.places,
               "say on which host and with which libraries each rank runs, and stop")
      ->group(kRecording);
  add_study_words(app, options);
}

void add_study_words(CLI::App& app, RecordOptions& options) {
  app.add_option("--run-id", options.run_id, "set by scalebench: the study that this belongs to")
      ->group("");
  app.add_option("--launch", options.launch, "set by scalebench: number of this start")->group("");
  app.add_option("--round", options.round, "set by scalebench: which of the repeated starts")
      ->group("");
}

Recorder::Recorder(const Ranks& ranks, const RecordOptions& options, const Schema& cases,
                   std::vector<std::string> command, const LinkedLibraries& libraries)
    : options_(options), cases_(cases), ranks_(ranks.session.size()) {
  const std::vector<std::vector<Core>> cores = cores_by_rank(ranks);
  is_crowded_ = too_few_cores(cores);
  // That its ranks are emulated may be said to some of them alone.
  const bool emulated = options_.emulated || timed_origin(is_crowded_) == "emulated";
  origin_ = any_agrees(ranks.host, emulated) ? "emulated" : "measured";
  if (options_.out.empty()) return;
  std::vector<RankPlace> placement = placement_of(ranks);
  if (!ranks.first()) return;
  const std::filesystem::path folder = options_.out;
  if (options_.run_id.empty()) {
    options_.run_id = own_folder(folder, kBytesNeeded).filename().string();
    manifest_ = std::make_unique<Manifest>();
  } else {
    unfinished_ = folder / kUnfinishedFile;
    write_file_atomically(*unfinished_, "removed by the program when it has come to its end\n");
    write_placement(folder, placement);
  }
  // First what all benchmarks have: of two that were given one folder, the second stops here.
  open(samples_schema());
  open(cases_);
  if (!manifest_) return;
  Manifest& manifest = *manifest_;
  manifest.run_id = options_.run_id;
  manifest.study = std::filesystem::path(command.front()).filename().string();
  manifest.origin = origin_;
  manifest.started_utc = utc_label();
  manifest.tool = build_info();
  manifest.environment = capture_environment(libraries);
  // This rank may be bound to one core, and the next one to another.
  manifest.environment.observation["usable_cores"] = Fact::of(cores_together(cores));
  manifest.warnings = warnings(manifest.environment, ranks.session.local_size());
  LaunchRecord& launch = manifest.launches.emplace_back();
  launch.program = manifest.study;
  launch.ranks = ranks_;
  launch.command = command;
  launch.status = "ok";
  launch.placement = std::move(placement);
  manifest.command = std::move(command);
  write_manifest(folder, manifest);
}

Recorder::~Recorder() = default;

ResultRow Recorder::side_row(const Schema& schema, std::string_view canonical) const {
  ResultRow row(schema);
  row.set("run_id", options_.run_id).set("origin", origin_);
  if (schema.has("ranks")) row.set("ranks", ranks_);
  return schema.has("case_id") ? row.set("case_id", case_id(canonical)) : row;
}

ResultRow Recorder::case_row(std::string_view canonical) const {
  return side_row(cases_, canonical);
}

ResultRow Recorder::sample_row(std::string_view canonical, std::string_view bench) const {
  ResultRow row = side_row(samples_schema(), canonical);
  return row.set("bench", bench).set("launch", options_.launch).set("round", options_.round);
}

CsvWriter& Recorder::open(const Schema& schema) {
  const auto found = files_.find(&schema);
  if (found != files_.end()) return found->second;
  const std::filesystem::path path = std::filesystem::path(options_.out) / schema.file;
  return files_.emplace(&schema, CsvWriter(path, schema.columns)).first->second;
}

CsvWriter* Recorder::file(const Schema& schema) { return files_.empty() ? nullptr : &open(schema); }

void Recorder::write(const ResultRow& row) {
  if (CsvWriter* const its = file(row.schema())) its->append(row.cells());
}

void Recorder::name_suspects(const std::vector<ResultRow>& hosts) {
  if (manifest_) name_hosts(*manifest_, hosts);
}

void Recorder::finish() {
  if (unfinished_) std::filesystem::remove(*unfinished_);
  if (!manifest_) return;
  *manifest_ = updated(*manifest_, options_.out, "complete");
  write_manifest(options_.out, *manifest_);
}

std::string json_line(const ResultRow& row) {
  return json_of(row).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace scalebench
