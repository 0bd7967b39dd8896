// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "bench/launch/process.hpp"
#include "bench/machine/digest.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/csv.hpp"
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

json known(double value) { return std::isfinite(value) ? json(value) : json(); }

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

json json_of(const AcceptedTonight& accepted) {
  if (!accepted.accepted) return nullptr;
  const AcceptedBuild& build = *accepted.accepted;
  return {{"run", build.run_id},
          {"utc", build.accepted_utc},
          {"reason", nullable(build.reason)},
          {"commit", nullable(build.tool.commit)}};
}

json json_of(const NightRecord& record, const fs::path& study) {
  const auto& [run, night, exit_code, rehearsal, accepted] = record;
  json programs = json::array();
  for (const auto& [name, before, after] : accepted.changed) {
    programs.push_back({{"name", name}, {"accepted", before}, {"tonight", after}});
  }
  return {
      {"run", run.run_id},
      {"study", run.study},
      {"host", own_host_name()},
      {"started_utc", run.started_utc},
      {"finished_utc", utc_label()},
      {"verdict", night.word},
      {"title", night.title()},
      {"reasons", night.reasons},
      {"exit_code", exit_code},
      {"rehearsal", nullable(rehearsal)},
      {"together", {{"change", known(night.together.change)}, {"machine", night.together.machine}}},
      {"commit", nullable(run.tool.commit)},
      {"accepted", json_of(accepted)},
      {"accepted_now", nullptr},
      {"changed_programs", programs},
      {"last_success", nullptr},
      {"changes", json::array()},
      {"hosts_at_fault", hosts_at_fault(run)},
      {"suspect_line", nullable(run.suspect_line)},
      {"history", (study.filename() / history_schema().file).string()}};
}

/// Rows of history.csv: the accepted programs' cells; none of a night that measured none of them.
std::vector<ResultRow> history_rows(const Night& night, const Manifest& run) {
  std::vector<ResultRow> rows;
  const auto add = [&](const std::string& key, const std::string& label) -> ResultRow& {
    ResultRow& row = rows.emplace_back(history_schema());
    row.set("run_id", run.run_id).set("started_utc", run.started_utc).set("origin", run.origin);
    return row.set("key", key).set("label", label);
  };
  const auto measured = [](const NightCell& cell) { return !std::isnan(cell.machine.seconds); };
  if (std::ranges::none_of(night.cells, measured)) return rows;
  for (const NightCell& cell : night.cells) {
    const MachineCell& its = cell.machine;
    if (std::isnan(its.seconds) && its.nights == 0) continue;  // not one of its cells
    add(cell.key, cell.label).set("seconds", its.seconds).set("change", its.change);
    rows.back().set("verdict", name_of(its.verdict));
  }
  add(kTogether, "all cells together").set("change", night.together.change);
  rows.back().set("verdict", night.together.machine ? "MACHINE" : "SAME");
  return rows;
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
  fs::create_directories(folder);
  fs::create_directories(study);
  write_file_atomically(folder / gate_schema().file,
                        csv_text(gate_schema(), gate_rows(record.night, run)));
  json written = json_of(record, study);
  const json last = record_in(study / kLastSuccess), facts = facts_of(run);
  if (last.is_object()) {
    written["last_success"] = {{"run", last["run"]}, {"utc", last["utc"]}};
    written["changes"] = changes_of(last["facts"], facts);
  }
  if (record.rehearsal.empty()) {
    append_history(study / history_schema().file, history_rows(record.night, run));
    if (record.exit_code == 0) {
      const json success{{"run", run.run_id}, {"utc", written["finished_utc"]}};
      written["last_success"] = success;
      json kept = success;
      kept["facts"] = facts;
      write_file_atomically(study / kLastSuccess, document(kept));
    }
  }
  write_file_atomically(folder / kNightRecord, document(written));
  return folder;
}

void publish(const fs::path& folder, const fs::path& to) {
  constexpr std::array kFiles{"report.html",     "report.md", "junit.xml",
                              "scalebench.prom", "gate.csv",  kNightRecord};
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

Acceptance accept_night(const fs::path& results, const std::string& run_id,
                        const std::string& reason) {
  const fs::path folder = results / "nightly" / run_id;
  json record = record_in(folder / kNightRecord);
  if (!record.is_object()) fail<UsageError>("{} is no night in {}", run_id, results.string());
  if (!record.value("rehearsal", json()).is_null()) {
    fail<UsageError>("{} was a rehearsal, and is never accepted", run_id);
  }
  const Manifest run = read_manifest(results / run_id);
  Acceptance acceptance{accept_build(results, run, reason), {}, {}};
  const fs::path history =
      study_folder(results, run.study, run.environment) / history_schema().file;
  std::map<std::string, double> seconds;
  for (const Cell& cell : cells_of(read_stored_run(results / run_id, WithSamples::no))) {
    if (cell.measured()) seconds[cell.key] = median_of(cell.seconds);
  }
  const CsvTable gate = CsvTable::read(folder / gate_schema().file);
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const std::string &word = gate.text(i, "verdict"), &key = gate.text(i, "key");
    const bool few_nights = word == "UNDECIDED" && gate.text(i, "question") == "machine";
    if (word == "SAME" || few_nights) continue;
    const auto its = seconds.find(key);
    const bool gone = its == seconds.end();
    ResultRow& row = rows.emplace_back(history_schema());
    row.set("run_id", run_id).set("started_utc", run.started_utc).set("origin", run.origin);
    row.set("key", key).set("label", gate.text(i, "label"));
    row.set("verdict", gone ? kDropped : kAccepted).set("seconds", gone ? NAN : its->second);
    (gone ? acceptance.dropped : acceptance.anew).push_back(gate.text(i, "label"));
  }
  append_history(history, rows);
  record["accepted_now"] = {{"utc", acceptance.build.accepted_utc}, {"reason", reason}};
  write_file_atomically(folder / kNightRecord, document(record));
  return acceptance;
}

}  // namespace scalebench
