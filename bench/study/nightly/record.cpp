// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "bench/launch/process.hpp"
#include "bench/machine/digest.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/file.hpp"
#include "bench/record/json_members.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kLastSuccess = "last_success.json";

json record_in(const fs::path& file) {
  return fs::exists(file) ? json_or_null(read_file(file)) : json();
}

/// The shared libraries that the loader finds for a program here, by path.
void add_libraries(const std::string& program, json& facts) {
  constexpr int kPatienceSeconds = 20;
  constexpr std::size_t kDigits = 12;
  const std::string file = fs::absolute(programs_folder() / program).string();
  std::istringstream lines(ask({"ldd", file}, kPatienceSeconds).output);
  for (std::string name, arrow, path, rest; lines >> name && std::getline(lines, rest);) {
    std::istringstream words(rest);
    const bool found = words >> arrow >> path && arrow == "=>" && path.starts_with('/');
    if (found && !facts.contains(path)) facts[path] = sha256_of_file(path).substr(0, kDigits);
  }
}

/// What may have made a machine slower, by name: software, libraries by their hashes, hosts.
json facts_of(const Manifest& run) {
  json facts = json::object();
  for (const auto& [name, fact] : run.environment.treatment) facts[name] = fact.value.dump();
  for (const auto& [program, hash] : run.binaries) add_libraries(program, facts);
  for (const FoundHost& host : run.hosts.value_or(std::vector<FoundHost>())) {
    facts["host " + host.host] = host.found;
  }
  return facts;
}

/// [{"what": ..., "before": ..., "after": ...}]
json changes_of(const json& before, const json& after) {
  json changes = json::array();
  if (!before.is_object() || !after.is_object()) return changes;
  json all = before;
  all.update(after);
  for (const auto& [what, value] : all.items()) {
    const json was = before.value(what, json()), is = after.value(what, json());
    if (was != is) changes.push_back({{"what", what}, {"before", was}, {"after", is}});
  }
  return changes;
}

json last_success_in(const fs::path& study) {
  const json last = record_in(study / kLastSuccess);
  if (!last.is_object()) return nullptr;
  return {{"run", last["run"]}, {"utc", last["finished_utc"]}};
}

json json_of(const NightRecord& record, const fs::path& study) {
  const auto& [run, night, exit_code, rehearsal, tonight] = record;
  json accepted, programs = json::array();
  if (tonight.accepted) {
    accepted = {{"run", tonight.accepted->run_id},
                {"utc", tonight.accepted->accepted_utc},
                {"reason", nullable(tonight.accepted->reason)},
                {"commit", nullable(tonight.accepted->tool.commit)}};
  }
  for (const auto& [name, before, after] : tonight.changed) {
    programs.push_back({{"name", name}, {"accepted", before}, {"tonight", after}});
  }
  const std::string now = utc_label();
  const bool success = exit_code == 0 && rehearsal.empty();
  const json facts = facts_of(run);
  return {
      {"run", run.run_id},
      {"study", run.study},
      {"host", own_host_name()},
      {"started_utc", run.started_utc},
      {"finished_utc", now},
      {"verdict", night.word},
      {"title", night.title()},
      {"reasons", night.reasons},
      {"exit_code", exit_code},
      {"rehearsal", nullable(rehearsal)},
      {"commit", nullable(run.tool.commit)},
      {"accepted", accepted},
      {"accepted_now", nullptr},
      {"changed_programs", programs},
      {"last_success", success ? json{{"run", run.run_id}, {"utc", now}} : last_success_in(study)},
      {"facts", facts},
      {"changes", changes_of(record_in(study / kLastSuccess)["facts"], facts)},
      {"hosts_at_fault", hosts_at_fault(run)},
      {"suspect_line", nullable(run.suspect_line)},
      {"history", (study.filename() / history_schema().file).string()}};
}

}  // namespace

std::vector<std::string> hosts_at_fault(const Manifest& run) {
  std::vector<std::string> lines;
  for (const FoundHost& host : run.hosts.value_or(std::vector<FoundHost>())) {
    if (host.found == "ok") continue;
    lines.push_back(fmt::format("{}: {}: {}", host.host, host.found, host.note));
  }
  for (const Suspect& host : run.suspects) {
    lines.push_back(fmt::format("{}: {}: {}", host.host, host.verdict, host.why));
  }
  return lines;
}

fs::path write_night(const fs::path& results, const NightRecord& record) {
  const Manifest& run = record.run;
  const fs::path folder = results / "nightly" / run.run_id;
  const fs::path study = study_folder(results, run.study, run.environment);
  const std::vector<ResultRow> rows = history_rows(record.night, run);
  append_history(folder / history_schema().file, rows);
  const auto is_of_machine = [](const NightCell& cell) {
    return !std::isnan(cell.machine.seconds);
  };
  if (record.rehearsal.empty() && std::ranges::any_of(record.night.cells, is_of_machine)) {
    append_history(study / history_schema().file, rows);
  }
  write_file_atomically(folder / kNightRecord, document(json_of(record, study)));
  return folder;
}

void settle_night(const fs::path& results, const NightRecord& record) {
  const fs::path file = results / "nightly" / record.run.run_id / kNightRecord;
  const fs::path study = study_folder(results, record.run.study, record.run.environment);
  json written = record_in(file);
  if (written["exit_code"] != record.exit_code) {
    written["exit_code"] = record.exit_code;
    written["last_success"] = last_success_in(study);
    write_file_atomically(file, document(written));
  } else if (record.exit_code == 0 && record.rehearsal.empty()) {
    fs::create_directories(study);
    write_file_atomically(study / kLastSuccess, read_file(file));
  }
}

void publish(const fs::path& folder, const fs::path& to) {
  constexpr std::array kFiles{"report.html",     "report.md",   "junit.xml",
                              "scalebench.prom", "history.csv", kNightRecord};
  fs::create_directories(to);
  const json there = record_in(to / kNightRecord), mine = record_in(folder / kNightRecord);
  if (there.is_object() && there.value("study", json()) != mine.value("study", json())) {
    fail<UsageError>("{} has a night of study {}; each study needs a folder of its own",
                     to.string(), there.value("study", json()).dump());
  }
  for (const char* const name : kFiles) {
    write_file_atomically(to / name, read_file(folder / name));
  }
}

std::string accept_night(const fs::path& results, const std::string& run_id,
                         const std::string& reason) {
  const fs::path folder = results / "nightly" / run_id;
  json record = record_in(folder / kNightRecord);
  if (!record.is_object()) fail<UsageError>("{} is no night in {}", run_id, results.string());
  if (!record.value("rehearsal", json()).is_null()) {
    fail<UsageError>("{} was a rehearsal, and is never accepted", run_id);
  }
  const Manifest run = read_manifest(results / run_id);
  const AcceptedBuild build = accept_build(results, run, reason);
  std::string said = fmt::format("accepted: {}, build {}\n", run_id, build.tool.name());
  const fs::path history =
      study_folder(results, run.study, run.environment) / history_schema().file;
  std::map<std::string, double> seconds;
  for (const Cell& cell : cells_of(read_stored_run(results / run_id, WithSamples::no))) {
    if (cell.measured()) seconds[cell.key] = median_of(cell.seconds);
  }
  const auto rows = accepted_rows(read_history(folder / history_schema().file), seconds);
  for (const ResultRow& row : rows) {
    said += row.get("verdict") == kDropped ? "dropped: " : "nights begin anew: ";
    said += row.get("label") + "\n";
  }
  append_history(history, rows);
  record["accepted_now"] = {{"utc", build.accepted_utc}, {"reason", reason}};
  write_file_atomically(folder / kNightRecord, document(record));
  return said;
}

}  // namespace scalebench
