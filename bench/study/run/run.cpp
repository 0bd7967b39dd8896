// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/run.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "bench/launch/host_survey.hpp"
#include "bench/launch/launch_mark.hpp"
#include "bench/machine/digest.hpp"
#include "bench/machine/managed_job.hpp"
#include "bench/record/file.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/plan/named.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace fs = std::filesystem;

StudyRun::StudyRun(fs::path folder, FolderLock lock, std::vector<PlannedLaunch> plan,
                   LaunchSettings settings, Manifest manifest, Console& console)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      plan_(std::move(plan)),
      settings_(std::move(settings)),
      manifest_(std::move(manifest)),
      console_(console) {}

std::size_t StudyRun::count(std::string_view status) const {
  return static_cast<std::size_t>(
      std::ranges::count(manifest_.launches, status, &LaunchRecord::status));
}

bool StudyRun::has_ended(const PlannedLaunch& launch) const {
  return std::ranges::count(manifest_.launches, launch.number, &LaunchRecord::number) > 0;
}

double StudyRun::expected_seconds(const PlannedLaunch& launch) const {
  double longest = -1;
  for (const LaunchRecord& record : manifest_.launches) {
    const bool same = record.name == launch.name && record.status == "ok" && record.seconds;
    if (same) longest = std::max(longest, *record.seconds);
  }
  return longest < 0 ? launch.guess_seconds : longest;
}

double StudyRun::seconds_left(std::size_t next) const {
  double left = 0;
  for (std::size_t i = next; i < plan_.size(); ++i) {
    const bool is_due = plan_[i].skipped_because.empty() && !has_ended(plan_[i]);
    if (is_due) left += expected_seconds(plan_[i]);
  }
  return left;
}

void StudyRun::or_how_to_go_on(const auto& work) const {
  const auto say = [&](const std::exception& error) {
    console_.clear_progress();
    fail<DiskFull>(
        "{}; everything that was measured is kept: free some room, then: scalebench "
        "resume {}",
        error.what(), folder().string());
  };
  try {
    work();
  } catch (const DiskFull& error) {
    say(error);
  } catch (const fs::filesystem_error& error) {
    if (!means_disk_full(error.code().value())) throw;
    say(error);
  }
}

void StudyRun::measure(const std::atomic<bool>& stop) {
  or_how_to_go_on([&] {
    for (std::size_t i = 0; i < plan_.size() && !stop; ++i) measure(i, "", stop);
  });
  console_.clear_progress();
}

void StudyRun::measure(std::size_t place, const std::string& label, const std::atomic<bool>& stop) {
  std::optional<Begun> begun = begin(place, label);
  if (!begun) return;
  const LaunchEnd end = begun->run(settings_.environment, stop);
  finish(std::move(*begun), end);
}

LaunchEnd StudyRun::Begun::run(const Variables& environment, const std::atomic<bool>& stop) const {
  return run_launch(record.command, environment, folder, deadline_seconds, stop);
}

void StudyRun::enter(LaunchRecord record) {
  auto& records = manifest_.launches;
  const auto place = std::ranges::upper_bound(records, record.number, {}, &LaunchRecord::number);
  records.insert(place, std::move(record));
  // This is the moment at which a launch has ended: whoever goes on later believes the manifest.
  write_manifest(folder(), manifest_);
}

std::optional<StudyRun::Begun> StudyRun::begin(std::size_t place, const std::string& label,
                                               double share) {
  const PlannedLaunch& launch = plan_[place];
  if (has_ended(launch)) return std::nullopt;
  console_.progress(place + 1, plan_.size(),
                    fmt::format("{}{} · round {}", label, launch.name, launch.round + 1),
                    seconds_left(place));
  LaunchRecord record;
  record.number = launch.number;
  record.name = launch.name;
  record.program = launch.program;
  record.ranks = launch.ranks;
  if (!launch.skipped_because.empty()) {
    record.status = "skipped";
    record.note = launch.skipped_because;
    enter(std::move(record));
    return std::nullopt;
  }
  if (!settings_.hosts.empty() && launch.nodes > static_cast<int>(settings_.hosts.size())) {
    record.status = "failed";
    record.note =
        fmt::format("needs {} hosts and {} of them are left (hosts in manifest.json says why)",
                    launch.nodes, settings_.hosts.size());
    enter(std::move(record));
    return std::nullopt;
  }
  record.attempt = next_attempt(folder(), launch.number, launch.name);
  // As typed from here: a command with another machine's absolute path helps nobody.
  const fs::path own =
      fs::proximate(launch_folder(folder(), launch.number, launch.name, record.attempt));
  fs::create_directories(own);
  PlannedLaunch timed = launch;
  timed.guess_seconds = expected_seconds(launch) / share;
  timed.most_seconds /= share;
  record.command = command_of(timed, settings_, own);
  return Begun{launch, std::move(record), own, deadline_seconds(timed)};
}

void StudyRun::finish(Begun begun, const LaunchEnd& how) {
  LaunchEnd end = how;
  LaunchRecord& record = begun.record;
  const PlannedLaunch& launch = begun.planned;
  const fs::path& own = begun.folder;
  if (end.ok && fs::exists(own / kUnfinishedFile)) {
    end.ok = false;
    const std::string said = said_in(read_file(own / "stderr.log"));
    end.why = fmt::format("exit code 0, but {} had not come to its end{}{}", launch.program,
                          said.empty() ? "" : ": ", said);
  }
  record.placement = read_placement(own);
  const std::vector<FoundHost> hosts = manifest_.hosts.value_or(std::vector<FoundHost>());
  const std::string elsewhere = end.ok ? misplaced(record.placement, launch, hosts) : "";
  record.seconds = end.seconds;
  record.status = end.ok ? "ok" : end.interrupted ? "interrupted" : "failed";
  record.note = end.why;
  if (!elsewhere.empty()) {
    // Its rows are of something else than they say: they stay in its folder, in no statistic.
    record.status = "failed";
    record.note = elsewhere;
    manifest_.superseded.push_back(record);
    record.attempt = 0;
    enter(std::move(record));
    console_.warn(
        fmt::format("launch {} ({}) does not count: {}", launch.number, launch.name, elsewhere),
        "placement in manifest.json says where each rank was");
    return;
  }
  enter(std::move(record));
  if (!end.ok && !end.interrupted) {
    console_.warn(fmt::format("launch {} ({}) failed: {}", launch.number, launch.name, end.why),
                  (own / "stderr.log").string());
  }
}

std::vector<ResultRow> StudyRun::table(const Schema& schema) const {
  const auto found = tables_.find(schema.file);
  return found == tables_.end() ? std::vector<ResultRow>() : found->second;
}

void StudyRun::write_tables() {
  for (const std::string& line : keep_launches(folder(), manifest_)) console_.warn(line);
  // From the files, as whoever verifies them: what is not there cannot be published.
  tables_ = study_tables(read_stored_run(folder(), WithSamples::yes), plan_);
  for (const Schema* const schema : study_table_schemas()) {
    replace_rows(folder(), *schema, table(*schema));
  }
}

void StudyRun::close(bool whole) {
  or_how_to_go_on([&] {
    write_tables();
    if (!manifest_.job.is_null()) {
      const std::optional<double> billed = container_seconds();
      manifest_.job["billed_seconds"] = billed ? nlohmann::json(*billed) : nlohmann::json();
      manifest_.job["training_seconds"] = training_seconds(manifest_.launches);
    }
    name_hosts(manifest_, table(hosts_schema()));
    manifest_ = updated(manifest_, folder(), whole ? "complete" : "partial");
    write_manifest(folder(), manifest_);
    if (whole) seal_folder(folder(), manifest_.files);
  });
}

// Its folder, opened.

namespace {

constexpr std::uintmax_t kBytesNeeded = 100'000'000;

/// Looks at the hosts of `settings`, makes them those that are usable, and warns of the others.
/// Throws UsageError when none is left, or when ranks would share cores there.
FoundHosts look_at_hosts(LaunchSettings& settings, const std::vector<PlannedLaunch>& plan,
                         const std::map<std::string, std::string>& binaries, Console& console) {
  if (settings.hosts.empty()) return {};
  FoundHosts hosts = survey_hosts(settings, binaries, environment_variables(::environ));
  for (const FoundHost& host : hosts) {
    if (host.found == "ok") continue;
    console.warn(printable(host.note), "launches on as many hosts as are left go on");
  }
  if (usable(hosts).empty()) {
    fail<UsageError>("no host is left: {}", printable(hosts.front().note));
  }
  for (const std::string& line : differences(hosts)) {
    console.warn(printable("hosts are not alike, " + line),
                 "all wait for the slowest, so N of them are no N times one: take equal hosts");
  }
  const std::string machine = settle(settings, hosts, plan);
  if (!machine.empty()) console.warn(machine, "their rows are emulated");
  return hosts;
}

/// The files that say what the run is to be, and whose hashes the manifest keeps.
void write_inputs(const fs::path& folder, const ResolvedStudy& study, Manifest& manifest) {
  for (const auto& [name, text] : {std::pair("config.toml", config_text(study.config)),
                                   std::pair(kPlanFile, plan_text({study.plan, study.settings}))}) {
    write_file_atomically(folder / name, text);
    manifest.inputs[name] = sha256_of(text);
  }
}

/// What a new run says of itself before its first launch. `settings`: the study's, with the run's
/// name and what looking at the hosts has changed.
Manifest manifest_of(const ResolvedStudy& study, const LaunchSettings& settings) {
  Manifest manifest;
  manifest.run_id = settings.run_id;
  manifest.study = study.config.name;
  manifest.origin = origin_of(settings);
  manifest.started_utc = utc_label();
  manifest.command = study.options.command;
  manifest.seed = study.config.seed;
  manifest.config = study.config.text;
  manifest.tool = study.build.tool;
  manifest.pair = study.pair;
  if (study.options.job) manifest.job = {{"defaults", study.options.job->named()}};
  manifest.binaries = study.binaries;
  manifest.environment = environment_here();
  const int threads = static_cast<int>(study.config.threads);
  manifest.warnings = warnings(manifest.environment, threads * most_ranks_of_a_host(study.plan));
  return manifest;
}

}  // namespace

StudyRun open_study(const ResolvedStudy& study, Console& console) {
  const StartOptions& options = study.options;
  LaunchSettings usable = study.settings;
  const auto first = std::ranges::find(study.plan, "", &PlannedLaunch::skipped_because);
  if (first != study.plan.end()) require_launcher(started_by(*first, study.settings));
  const FoundHosts hosts = look_at_hosts(usable, study.plan, study.binaries, console);
  const fs::path folder = options.out.empty()
                              ? new_run_folder(options.results, study.config.name, kBytesNeeded)
                              : own_folder(options.out, kBytesNeeded);
  FolderLock lock(folder);
  usable.run_id = folder.filename().string();
  Manifest manifest = manifest_of(study, usable);
  if (options.job) console.note(describe(*options.job));
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);
  write_inputs(folder, study, manifest);
  if (!hosts.empty()) manifest.hosts = hosts;
  write_manifest(folder, manifest);
  return {folder, std::move(lock), study.plan, usable, std::move(manifest), console};
}

// An unfinished one.

namespace {

/// Another config or plan is another study: no option allows that.
void require_same_inputs(const fs::path& folder, const Manifest& manifest) {
  if (manifest.inputs.empty()) {
    fail<UsageError>(
        "'{}' cannot be resumed: it has no plan.json, as a study has (another verb made it)",
        folder.string());
  }
  for (const auto& [name, hash] : manifest.inputs) {
    if (!fs::exists(folder / name) || sha256_of_file(folder / name) != hash) {
      fail<UsageError>("{} is not what the run began with: it cannot be resumed",
                       (folder / name).string());
    }
  }
}

/// A run is of one build on one machine.
void require_same_build(const fs::path& folder, const Manifest& manifest,
                        const std::map<std::string, std::string>& binaries) {
  std::vector<std::string> changes;
  for (const auto& [name, hash] : manifest.binaries) {
    const auto its = binaries.find(name);
    const bool same = its != binaries.end() && its->second == hash;
    if (!same) changes.push_back(fmt::format("{} is another binary", name));
  }
  if (key_hash_of(manifest.environment) != key_hash_of(environment_here())) {
    changes.emplace_back("the hardware is another");
  }
  if (changes.empty()) return;
  fail<UsageError>("'{0}' is not resumed: {1}; measure anew: scalebench run {0}/config.toml",
                   folder.string(), fmt::join(changes, ", "));
}

/// The record of a launch that is to be started again becomes one of an earlier attempt.
void supersede(Manifest& manifest, bool failed_too) {
  auto& records = manifest.launches;
  const auto first_due =
      std::stable_partition(records.begin(), records.end(), [&](const LaunchRecord& record) {
        return record.status != "interrupted" && !(failed_too && record.status == "failed");
      });
  std::move(first_due, records.end(), std::back_inserter(manifest.superseded));
  records.erase(first_due, records.end());
}

/// What the launches to come need is looked for before anything is written: files are named as seen
/// from the folder that the run was begun in, which this may not be.
void require_startable(const StoredPlan& plan, const Manifest& manifest) {
  for (const PlannedLaunch& launch : plan.launches) {
    const bool due =
        std::ranges::count(manifest.launches, launch.number, &LaunchRecord::number) == 0;
    if (!due || !launch.skipped_because.empty()) continue;
    require_launcher(started_by(launch, plan.settings));
    const std::string data = argument_of(launch, "--data");
    const bool is_here = plan.settings.hosts.empty();  // nobody sees files of others
    const std::string missing = data.empty() ? "" : why_no_data(data, is_here);
    if (!missing.empty()) fail<UsageError>("{}; resume the run where it was begun", missing);
  }
}

}  // namespace

StudyRun reopen_study(const fs::path& run, bool accept_failed,
                      const std::vector<std::string>& command, Console& console) {
  if (!fs::exists(run / "manifest.json")) {
    fail<UsageError>("'{}' is no run: it has no manifest.json", run.string());
  }
  const fs::path folder = fs::canonical(run);
  FolderLock lock(folder);
  require_not_sealed(folder);
  Manifest manifest = read_manifest(folder);
  require_same_inputs(folder, manifest);
  // Launchers were asked to end when their study was killed, and write to their logs until they
  // have.
  constexpr std::chrono::seconds kPatience{10};
  if (const int ended = LaunchProcesses(folder).end(kPatience); ended > 0) {
    console.note(fmt::format("ended {} processes of a launch that outlived its study", ended));
  }
  StoredPlan plan = read_plan(folder);
  const std::map<std::string, std::string> binaries =
      hashes_of_programs(plan.launches, programs_folder());
  require_same_build(folder, manifest, binaries);
  supersede(manifest, !accept_failed);
  require_startable(plan, manifest);
  manifest.finished_utc.clear();
  manifest.status = "partial";
  manifest.files.clear();
  manifest.resumptions.push_back({utc_label(), command});
  manifest.pair.clear();  // the other run of the pair is not measured beside what comes now
  for (const std::string& line : recover_run(folder, plan.launches, manifest)) console.note(line);
  write_manifest(folder, manifest);

  LaunchSettings settings = std::move(plan.settings);
  settings.programs = programs_folder();
  settings.run_id = manifest.run_id;
  const FoundHosts hosts = look_at_hosts(settings, plan.launches, binaries, console);
  if (!hosts.empty()) manifest.hosts = hosts;
  write_manifest(folder, manifest);
  return {folder,   std::move(lock),     std::move(plan.launches),
          settings, std::move(manifest), console};
}

}  // namespace scalebench
