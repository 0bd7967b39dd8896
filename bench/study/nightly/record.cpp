// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
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

bool of_machine(const ResultRow& row) { return row.get("question") == "machine"; }

MachineVerdict verdict_named(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(MachineVerdict::missing); ++i) {
    if (name_of(static_cast<MachineVerdict>(i)) == word) return static_cast<MachineVerdict>(i);
  }
  fail<UsageError>("{}: '{}' is no verdict of a night", history_schema().file, word);
}

ResultRow of_build(ResultRow row, const BuildCell& build) {
  row.set("question", "build").set("verdict", build.word).set("sees", build.smallest_effect);
  row.set("before", build.seconds_a).set("seconds", build.seconds_b).set("change", build.change());
  return row.set("change_low", build.ratio_low - 1).set("change_high", build.ratio_high - 1);
}

ResultRow of_machine(ResultRow row, const MachineCell& machine) {
  row.set("question", "machine").set("verdict", name_of(machine.verdict));
  row.set("before", machine.before).set("seconds", machine.seconds);
  return row.set("change", machine.change).set("sees", machine.limit);
}

}  // namespace

std::vector<ResultRow> read_history(const std::filesystem::path& file) {
  std::vector<ResultRow> rows;
  if (!std::filesystem::exists(file)) return rows;
  const CsvTable table = CsvTable::read(file);
  for (std::size_t i = 0; i < table.size(); ++i) {
    ResultRow& row = rows.emplace_back(history_schema());
    for (const std::string& column : history_schema().columns) {
      row.set(column, table.text(i, column));
    }
    for (const char* const column : {"seconds", "change"}) table.number(i, column);
  }
  return rows;
}

void append_history(const std::filesystem::path& file, const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> all = read_history(file);
  all.insert(all.end(), rows.begin(), rows.end());
  std::filesystem::create_directories(file.parent_path());
  write_file_atomically(file, csv_text(history_schema(), all));
}

std::vector<ResultRow> history_rows(const Night& night, const Manifest& run) {
  std::vector<ResultRow> rows;
  ResultRow common(history_schema());
  common.set("run_id", run.run_id).set("started_utc", run.started_utc).set("origin", run.origin);
  for (const NightCell& cell : night.cells) {
    ResultRow row = common;
    row.set("key", cell.key).set("label", cell.label);
    const ResultRow build = of_build(row, cell.build), machine = of_machine(row, cell.machine);
    rows.push_back(cell.of_machine ? machine : build);
    rows.back().set("verdict", cell.word).set("note", cell.note);
    if (cell.of_machine && cell.build.rounds > 0) rows.push_back(build);
    if (!cell.of_machine && cell.machine.is_known()) rows.push_back(machine);
  }
  common.set("key", kTogether).set("label", "all cells together").set("question", "machine");
  common.set("verdict", night.together.machine ? "MACHINE" : "SAME");
  rows.push_back(common.set("change", night.together.change));
  return rows;
}

std::vector<ResultRow> accepted_rows(std::span<const ResultRow> night,
                                     const std::map<std::string, double>& seconds) {
  std::vector<ResultRow> rows;
  std::set<std::string> seen{kTogether};
  for (const ResultRow& row : night) {
    const std::string& word = row.get("verdict");
    const bool is_answer = seen.insert(row.get("key")).second;
    if (!is_answer || !needs_look(word, of_machine(row))) continue;
    const auto its = seconds.find(row.get("key"));
    const bool gone = its == seconds.end();
    ResultRow& anew = rows.emplace_back(history_schema());
    for (const char* const column : {"run_id", "started_utc", "origin", "key", "label"}) {
      anew.set(column, row.get(column));
    }
    anew.set("question", "machine").set("verdict", gone ? kDropped : kAccepted);
    if (!gone) anew.set("seconds", its->second);
  }
  return rows;
}

MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin) {
  MachineNights nights;
  for (const ResultRow& row : history) {
    if (row.get("origin") != origin || !of_machine(row)) continue;
    const std::string &key = row.get("key"), &word = row.get("verdict");
    const double seconds = number_in(row, "seconds");
    if (word == kDropped) {
      nights.cells.erase(key);
    } else if (word == kAccepted) {
      nights.cells[key] = {{seconds, MachineVerdict::same}};
    } else if (key == kTogether) {
      nights.together.push_back(
          {number_in(row, "change"), verdict_named(word) == MachineVerdict::machine});
    } else {
      nights.cells[key].push_back({seconds, verdict_named(word)});
    }
  }
  return nights;
}

std::string otava_text(std::span<const ResultRow> history, std::size_t& left_out) {
  std::vector<std::pair<std::string, std::string>> nights;          // run, time
  std::map<std::string, std::map<std::string, std::string>> cells;  // seconds by label and run
  for (const ResultRow& row : history) {
    const std::string &word = row.get("verdict"), &run = row.get("run_id");
    if (!of_machine(row) || row.get("key") == kTogether || word == kAccepted || word == kDropped) {
      continue;
    }
    if (nights.empty() || nights.back().first != run) {
      nights.emplace_back(run, row.get("started_utc"));
    }
    auto& its = cells[row.get("label")];
    if (!row.get("seconds").empty()) its[run] = row.get("seconds");
  }
  left_out =
      std::erase_if(cells, [&](const auto& cell) { return cell.second.size() != nights.size(); });
  std::vector<std::string> header{"time", "run"};
  for (const auto& [label, seconds] : cells) header.push_back(label);
  std::string text = csv_line(header);
  for (const auto& [run, utc] : nights) {
    std::vector<std::string> line{utc, run};
    for (const auto& [label, seconds] : cells) line.push_back(seconds.at(run));
    text += csv_line(line);
  }
  return text;
}

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
