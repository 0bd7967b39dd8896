// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "bench/launch/process.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/comparison/run_difference.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kTailBytes = 2000;

json nullable(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }
json nullable(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

template <class T>
json nullable(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json json_of_counts(const GateReport& report) {
  json counts;
  counts["expected"] = report.expected();
  counts["tested"] = report.tested();
  for (int i = 0; i <= static_cast<int>(GateVerdict::excluded); ++i) {
    const auto verdict = static_cast<GateVerdict>(i);
    std::string name(name_of(verdict));
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    counts[name] = report.count(verdict);
  }
  return counts;
}

/// What `each` makes of every one of `all`.
template <class T, class Each>
json list_of(const std::vector<T>& all, Each each) {
  json list = json::array();
  for (const T& one : all) list.push_back(each(one));
  return list;
}

json json_of(const Shift& shift) {
  if (shift.cells == 0) return nullptr;
  return {{"change", std::expm1(shift.value)},
          {"low", nullable(std::expm1(shift.low))},
          {"high", nullable(std::expm1(shift.high))},
          {"cells", shift.cells}};
}

json host_shift_of(const GateReport& report) {
  if (report.common.cells == 0 && !report.host_alarm) return nullptr;
  json shift = report.common.cells == 0 ? json::object() : json_of(report.common);
  shift["of"] = report.controlled ? "the accepted build" : "the cells under test";
  shift["drift"] = report.host_drift.found ? json(report.host_drift.change) : json(nullptr);
  shift["rerun_change"] = nullable(std::expm1(report.rerun_shift));
  shift["alarm"] = report.host_alarm;
  return shift;
}

json beside_of(const GateReport& report, const NightRecord& night) {
  if (report.accepted_run.empty()) return nullptr;
  json beside{{"run", report.accepted_run},
              {"commit", nullable(report.accepted_build)},
              {"changed_libraries", night.changed_libraries},
              {"slower_too", std::ranges::count_if(report.open, &OpenRegression::accepted_too)},
              {"all_cells", json_of(report.suite)},
              {"alarm", report.suite_alarm()}};
  std::size_t cells = 0, rounds = 0;
  for (const GateCell& cell : report.cells) {
    cells += cell.test.rounds > 0 ? 1 : 0;
    rounds = std::max(rounds, cell.test.rounds);
  }
  beside["cells"] = cells;
  beside["rounds"] = rounds;
  return beside;
}

/// How tonight's launches were started, in words that come to the same from any folder, whatever
/// the environment says there: on other hosts, or by another launcher, it is no repeat.
std::vector<std::string> start_words(const Manifest& tonight, const fs::path& run) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (fs::exists(run / kPlanFile)) add("--hosts", host_words(read_plan(run).settings.hosts));
  std::string mpirun = argument_of(tonight.command, "--mpirun");
  if (mpirun.find('/') != std::string::npos && fs::exists(mpirun)) {
    mpirun = fs::absolute(mpirun).lexically_normal().string();
  }
  add("--mpirun", mpirun);
  const std::string oversubscribe = "--oversubscribe";
  if (std::ranges::find(tonight.command, oversubscribe) != tonight.command.end()) {
    words.push_back(oversubscribe);
  }
  return words;
}

/// What shows the regression again, from any folder: both builds in turns, where tonight had them;
/// else the study of the last good run, with what is built now.
std::string command_of(const OpenRegression& open, const Manifest& tonight,
                       const fs::path& results) {
  const std::string good = open.last_good_run.empty() ? open.since_run : open.last_good_run;
  const fs::path run = results / (open.rounds > 0 ? tonight.run_id : good);
  std::vector<std::string> words{"scalebench", open.rounds > 0 ? "compare" : "run"};
  if (open.rounds > 0) {
    for (const fs::path& build :
         {accepted_programs(results, tonight), fs::absolute(programs_folder())}) {
      words.insert(words.end(), {"--build", build.lexically_normal().string()});
    }
  }
  words.push_back((run / "config.toml").string());
  std::ranges::move(start_words(tonight, run), std::back_inserter(words));
  return shell_line(words);
}

/// What is open, with what a night to come needs to know of it.
json json_of(const OpenRegression& open, const Manifest& tonight, const fs::path& results) {
  return {{"key", open.key},
          {"label", open.label},
          {"accepted_too", open.accepted_too},
          {"since_run", open.since_run},
          {"since_utc", open.since_utc},
          {"last_good_run", nullable(open.last_good_run)},
          {"good_commit", nullable(open.good_commit)},
          {"bad_commit", nullable(open.bad_commit)},
          {"found_change", open.found_change},
          {"change", nullable(open.change)},
          {"change_low", nullable(open.low)},
          {"change_high", nullable(open.high)},
          {"rounds", open.rounds == 0 ? json(nullptr) : json(open.rounds)},
          {"command", command_of(open, tonight, results)}};
}

json changes_of(const Manifest& run, const std::optional<Manifest>& previous) {
  json changes{{"commit",
                {{"before", previous ? nullable(previous->tool.commit) : json(nullptr)},
                 {"after", nullable(run.tool.commit)},
                 {"dirty", nullable(run.tool.dirty)}}},
               {"treatment", json::array()},
               {"observation", json::array()},
               {"config", json::array()}};
  if (!previous) return changes;
  const Environment& before = previous->environment;
  changes["treatment"] = fact_changes(before.treatment, run.environment.treatment);
  // The words that start the programs may be the cause as well as what they start.
  for (const FieldDifference& words : of_set(differences_of(*previous, run), "launchers")) {
    // Other numbers of ranks are another config, and shown as that.
    if (words.a == "not recorded" || words.b == "not recorded") continue;
    changes["treatment"].push_back(
        {{"field", "launcher of " + words.field}, {"before", words.a}, {"after", words.b}});
  }
  changes["observation"] = fact_changes(before.observation, run.environment.observation);
  changes["config"] = line_differences(previous->config, run.config);
  return changes;
}

json json_of(const Canary& canary) {
  return {{"run", canary.run},
          {"drop", nullable(canary.drop)},
          {"drop_low", nullable(canary.drop_low)},
          {"drop_high", nullable(canary.drop_high)},
          {"beyond", canary.beyond},
          {"why_not", nullable(canary.why_not)},
          {"cells", canary.cells},
          {"expected", canary.expected},
          {"caught", canary.caught}};
}

json self_checks_of(const NightRecord& night, const GateReport& report) {
  json aa = nullptr;
  if (night.aa) {
    aa = {{"run", night.aa->run},
          {"cells", night.aa->cells},
          {"differing", night.aa->differing},
          {"spread", nullable(night.aa->spread)},
          {"smallest_effect", nullable(night.aa->smallest_effect)}};
  }
  json unseeing = list_of(report.unseeing(), [](const GateCell* const cell) {
    const auto& needed = cell->sensitivity.launches_needed;
    return json{{"label", cell->cell.is_time() ? cell->cell.label
                                               : cell->cell.label + " " + cell->cell.metric},
                {"mde", nullable(cell->sensitivity.mde)},
                {"launches", cell->cell.launches.size()},
                {"rounds", cell->test.rounds > 0 ? json(cell->test.rounds) : json(nullptr)},
                {"launches_needed", needed ? json(*needed) : json(nullptr)}};
  });
  const std::size_t worse = report.count(GateVerdict::regressed) +
                            report.count(GateVerdict::confirmed) + report.count(GateVerdict::open);
  return {{"aa", std::move(aa)},
          {"sensitivity",
           {{"drop", kToBeSeen}, {"power", kNightPower}, {"unseeing", std::move(unseeing)}}},
          {"canary", night.canary ? json_of(*night.canary) : json(nullptr)},
          {"flags",
           {{"regressed", worse},
            {"improved", report.count(GateVerdict::improved)},
            {"jaccard_with_previous", nullable(report.jaccard)}}}};
}

json annotations_of(const Annotations& annotations) {
  json list = json::array();
  const auto add = [&](const char* kind, const Annotation& annotation) {
    list.push_back(
        {{"kind", kind},
         {"run", annotation.run},
         {"cells", std::string(kind) == "accepted" ? json(annotation.cells) : json(nullptr)},
         {"reason", annotation.reason}});
  };
  for (const Annotation& annotation : annotations.accepted) add("accepted", annotation);
  for (const Annotation& annotation : annotations.excluded) add("excluded", annotation);
  if (annotations.pinned) add("pinned", *annotations.pinned);
  return list;
}

json json_of(const NightStep& step) {
  return {{"name", step.name},
          {"status", step.status},
          {"seconds", nullable(step.seconds)},
          {"note", step.note}};
}

/// What only the night itself could know: its schedule, its doctor, what it measured when.
void keep_from_before(json& now, const json& before) {
  if (!before.is_object()) return;
  for (const char* const name : {"doctor", "scheduled_utc"}) {
    if (now[name].empty() && before.contains(name)) now[name] = before[name];
  }
  json steps = json::array();
  for (const json& step : before.value("steps", json::array())) {
    const std::string name = text_in(step, "name");
    if (name != "analyse" && name != "report" && name != "publish") steps.push_back(step);
  }
  steps.insert(steps.end(), now["steps"].begin(), now["steps"].end());
  now["steps"] = std::move(steps);
}

json json_of(const FailedLaunch& launch) {
  return {{"number", launch.number},
          {"name", launch.name},
          {"why", launch.why},
          {"stderr_tail", launch.stderr_tail}};
}

json json_of(const Finding& finding) {
  const char* const level = finding.level == Finding::ok        ? "ok"
                            : finding.level == Finding::warning ? "warning"
                                                                : "missing";
  return {{"level", level},
          {"what", finding.subject},
          {"text", finding.text},
          {"remedy", finding.remedy}};
}

json json_of(const LeftOut& run) { return {{"run", run.run_id}, {"why", run.why}}; }

json json_of(const NightRecord& night, const Analysis& analysis) {
  const auto& [results, input, report] = analysis;
  const RunHistory& history = input.history;
  const auto regression = [&, &results = results](const OpenRegression& open) {
    return json_of(open, night.run, results);
  };
  const auto each = [](const auto& one) { return json_of(one); };
  json all{
      {"night", night.run.run_id},
      {"run", night.run.run_id},
      {"rerun", nullable(report.rerun_run)},
      {"started_utc", night.run.started_utc},
      {"finished_utc", nullable(night.finished_utc)},
      {"scheduled_utc", nullable(night.scheduled_utc)},
      {"host", night.host},
      {"study", night.run.study},
      {"verdict", night.verdict.word},
      {"exit_code", night.verdict.exit_code},
      {"states", night.verdict.states},
      {"summary", night.verdict.summary},
      {"counts", json_of_counts(report)},
      {"previous_run", history.nights.empty() ? json(nullptr) : json(history.nights.back().run_id)},
      {"pinned_run", history.pinned ? json(history.pinned->run_id) : json(nullptr)},
      {"baseline_runs", report.baseline_runs},
      {"left_out", list_of(history.left_out, each)},
      {"host_shift", host_shift_of(report)},
      {"beside", beside_of(report, night)},
      {"open", list_of(report.open, regression)},
      {"changes", changes_of(night.run, history.previous)},
      {"self_checks", self_checks_of(night, report)},
      {"steps", list_of(night.steps, each)},
      {"failed_launches", list_of(night.failed_launches, each)},
      {"annotations", annotations_of(input.annotations)},
      {"doctor", list_of(night.doctor, each)},
      {"suspects", json_of(night.run).at("suspects")},
      {"suspect_line", nullable(night.run.suspect_line)}};
  keep_from_before(all, night.before);
  return all;
}

std::string tail_of(const fs::path& file) {
  if (!fs::exists(file)) return "";
  const std::string text = read_file(file);
  return text.size() <= kTailBytes ? text
                                   : fmt::format("...{}", text.substr(text.size() - kTailBytes));
}

}  // namespace

Analysis analyse(const fs::path& results, const StoredRun& tonight, std::size_t nights) {
  Analysis analysis;
  analysis.results = fs::absolute(results).lexically_normal();
  Manifest manifest = tonight.manifest;
  manifest.run_id = tonight.folder.filename().string();
  analysis.input.annotations = read_annotations(results / "annotations.toml");
  analysis.input.tonight = night_of(tonight);
  analysis.input.tonight.run_id = manifest.run_id;
  analysis.input.history = read_history(results, manifest, analysis.input.annotations, nights);
  analysis.input.beside = beside_night(results, manifest.run_id);
  analysis.report = gate(analysis.input);
  return analysis;
}

AaCheck aa_check(const StoredRun& run) {
  std::vector<LaunchRows> a, b;
  for (const LaunchRows& launch : run.launches_of(allreduce_schema())) {
    (run.folders.at(launch.launch).name.ends_with("-b") ? b : a).push_back(launch);
  }
  const std::vector<Cell> cells_a = cells_of(a), cells_b = cells_of(b);
  std::vector<CellSamples> samples;
  for (const CellPair& pair : pairs_of(cells_a, cells_b)) {
    if (!pair.skipped()) samples.push_back(pair.samples());
  }
  AaCheck check{run.folder.filename().string(), samples.size()};
  // The largest of a few cells stands for their spread.
  const auto raise = [](double& most, double value) {
    if (!std::isnan(value) && !(value <= most)) most = value;
  };
  for (const CellComparison& cell : compare_cells(samples)) {
    check.differing += cell.differs() ? 1 : 0;
    check.missing += cell.verdict == Verdict::missing ? 1 : 0;
    raise(check.spread, std::max(cell.ratio, 1 / cell.ratio) - 1);
    raise(check.smallest_effect, cell.smallest_effect);
  }
  return check;
}

std::string AaCheck::trouble() const {
  constexpr double kMayDiffer = 0.05;  // by chance
  if (cells == 0) return "not one cell was measured";
  if (missing > 0) return fmt::format("{} of {} cells could not be compared", missing, cells);
  if (static_cast<double>(differing) <= kMayDiffer * static_cast<double>(cells)) return "";
  return fmt::format("{} of {} cells differ", differing, cells);
}

std::optional<AaCheck> aa_before(const fs::path& results, const Manifest& tonight,
                                 const GateInput& input, std::vector<LeftOut>& unreadable) {
  std::optional<AaCheck> latest;
  const std::optional<Manifest>& previous = input.history.previous;
  std::string started = previous ? previous->started_utc : "";
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    const std::string name = entry.path().filename().string();
    if (name.find(fmt::format("-{}-", aa_study(tonight.study))) == std::string::npos) continue;
    if (!fs::exists(entry.path() / "manifest.json") || is_only_taken(entry.path())) continue;
    if (input.annotations.excluded_run(name) != nullptr) continue;
    try {
      const Manifest manifest = read_manifest(entry.path());
      const bool between = manifest.started_utc > started &&
                           manifest.started_utc <= tonight.started_utc &&
                           manifest.study == aa_study(tonight.study);
      if (!between) continue;
      latest = aa_check(read_stored_run(entry.path(), WithSamples::no));
      started = manifest.started_utc;
    } catch (const std::exception& error) {
      unreadable.push_back({name, error.what()});
    }
  }
  return latest;
}

std::vector<FailedLaunch> failed_launches(const StoredRun& run) {
  std::vector<FailedLaunch> failed;
  for (const LaunchRecord& launch : run.manifest.launches) {
    if (launch.status != "failed") continue;
    FailedLaunch& its = failed.emplace_back();
    its.number = launch.number;
    its.why = launch.note;
    const auto folder = run.folders.find(launch.number);
    if (folder == run.folders.end()) {
      its.name = launch.program;
      continue;
    }
    its.name = folder->second.name;
    its.stderr_tail = tail_of(folder->second.path / "stderr.log");
  }
  return failed;
}

fs::path night_folder(const fs::path& results, const std::string& run_id) {
  fs::path folder = results / "nightly" / run_id;
  fs::create_directories(folder);
  return folder;
}

void write_tables(const fs::path& folder, const GateReport& report) {
  write_file_atomically(folder / gate_schema().file, csv_text(gate_schema(), gate_rows(report)));
  write_file_atomically(folder / history_schema().file,
                        csv_text(history_schema(), history_rows(report)));
}

nlohmann::json measured_before(const fs::path& folder) {
  const fs::path file = folder / kNightRecord;
  if (!fs::exists(file)) return nullptr;
  // It can be made again, so that a damaged one is no loss.
  return json_or_null(read_file(file));
}

std::vector<std::string> changed_libraries_in(const json& record) {
  std::vector<std::string> libraries;
  if (!record.is_object() || !record.value("beside", json()).is_object()) return libraries;
  const json listed = record["beside"].value("changed_libraries", json::array());
  for (const json& library : listed) {
    if (library.is_string()) libraries.push_back(library.get<std::string>());
  }
  return libraries;
}

std::string finished_in(const json& record, const Manifest& run) {
  const std::string told = text_in(record, "finished_utc");
  return told.empty() ? run.finished_utc : told;
}

std::optional<Canary> canary_that_was_not(const NightRecord& night) {
  std::vector<NightStep> steps = night.steps;
  if (night.before.is_object()) {
    for (const json& step : night.before.value("steps", json::array())) {
      steps.push_back({text_in(step, "name"), text_in(step, "status"), {}, text_in(step, "note")});
    }
  }
  for (const NightStep& step : steps) {
    if (step.name != "canary" || step.status != "skipped" || step.note == kNoCanary) continue;
    return Canary{.why_not = fmt::format("{} ({}: a night without it)", step.note, kNoCanary)};
  }
  return std::nullopt;
}

void write_night(const fs::path& folder, const NightRecord& night, const Analysis& analysis) {
  write_file_atomically(folder / kNightRecord, document(json_of(night, analysis)));
}

std::size_t publish(const fs::path& folder, const fs::path& to) {
  constexpr std::array kFiles{"report.html",     "report.md", "junit.xml",   "github.txt",
                              "scalebench.prom", "gate.csv",  "history.csv", kNightRecord};
  fs::create_directories(to);
  const json there = measured_before(to), mine = measured_before(folder);
  if (there.is_object() && text_in(there, "study") != text_in(mine, "study")) {
    fail<UsageError>("{} has a night of study '{}'; each study needs a folder of its own",
                     to.string(), text_in(there, "study"));
  }
  std::size_t count = 0;
  for (const char* const name : kFiles) {
    if (!fs::exists(folder / name)) continue;
    write_file_atomically(to / name, read_file(folder / name));
    ++count;
  }
  return count;
}

}  // namespace scalebench
