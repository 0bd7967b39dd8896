// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/launch/process.hpp"
#include "bench/machine/identity.hpp"
#include "bench/record/file.hpp"
#include "bench/record/json_members.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {

void append_history(const std::filesystem::path& folder, const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> all = rows_in(folder, history_schema());
  all.insert(all.end(), rows.begin(), rows.end());
  std::filesystem::create_directories(folder);
  replace_rows(folder, history_schema(), all);
}

std::vector<ResultRow> history_rows(const Night& night, const Manifest& run) {
  std::vector<ResultRow> rows;
  ResultRow common(history_schema());
  common.set("run_id", run.run_id).set("started_utc", run.started_utc).set("origin", run.origin);
  for (const NightCell& cell : night.cells) {
    ResultRow& row = rows.emplace_back(common);
    row.set("key", cell.key).set("label", cell.label).set("note", cell.note);
    row.set("question", cell.of_machine ? "machine" : "build").set("verdict", cell.word);
    row.set("before", cell.before()).set("seconds", cell.after()).set("change", cell.change());
    row.set("sees", cell.sees());
    if (!cell.of_machine) {
      row.set("change_low", cell.build.ratio_low - 1).set("change_high", cell.build.ratio_high - 1);
    }
    if (!cell.machine.is_known()) continue;
    row.set("machine_verdict", cell.machine.word).set("machine_seconds", cell.machine.seconds);
  }
  common.set("key", kTogether).set("label", "all cells together").set("question", "machine");
  common.set("verdict", night.together.machine ? "MACHINE" : "SAME");
  rows.push_back(common.set("change", night.together.change));
  return rows;
}

std::vector<ResultRow> accepted_rows(std::span<const ResultRow> night,
                                     const std::map<std::string, double>& seconds) {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : night) {
    const bool of_machine = row.get("question") == "machine";
    if (row.get("key") == kTogether || !needs_look(row.get("verdict"), of_machine)) continue;
    ResultRow& anew = rows.emplace_back(history_schema());
    for (const char* const column : {"run_id", "started_utc", "origin", "key", "label"}) {
      anew.set(column, row.get(column));
    }
    const auto its = seconds.find(row.get("key"));
    anew.set("machine_verdict", its == seconds.end() ? kDropped : kAccepted);
    if (its != seconds.end()) anew.set("machine_seconds", its->second);
  }
  return rows;
}

MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin) {
  MachineNights nights;
  for (const ResultRow& row : history) {
    if (row.get("origin") != origin) continue;
    const std::string &key = row.get("key"), &word = row.get("machine_verdict");
    const double seconds = number_in(row, "machine_seconds");
    if (key == kTogether) {
      nights.together.push_back({number_in(row, "change"), row.get("verdict") == "MACHINE"});
    } else if (word == kDropped) {
      nights.cells.erase(key);
    } else if (word == kAccepted) {
      nights.cells[key] = {{seconds, "SAME"}};
    } else if (!word.empty()) {
      nights.cells[key].push_back({seconds, word});
    }
  }
  return nights;
}

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kLastSuccess = "last_success.json";

json record_in(const fs::path& file) {
  return fs::exists(file) ? json_or_null(read_file(file)) : json();
}

/// What a run's programs load here, by name: version or build id.
json libraries_of(const Manifest& run) {
  constexpr int kPatienceSeconds = 20;
  json libraries = json::object();
  for (const auto& [program, hash] : run.binaries) {
    const std::string file = fs::absolute(programs_folder() / program).string();
    for (const Identity& one : identities_in(ask({file, "--places"}, kPatienceSeconds).output)) {
      libraries.update(json(one.libraries));
    }
  }
  return libraries;
}

json last_success_in(const fs::path& study) {
  return record_in(study / kLastSuccess)["last_success"];
}

json json_of(const NightRecord& record, const fs::path& study) {
  const std::string now = utc_label();
  const json manifest = json_of(record.run), before = last_success_in(study);
  const bool success = record.exit_code == 0 && record.rehearsal.empty();
  json night{{"run", record.run.run_id},
             {"host", own_host_name()},
             {"finished_utc", now},
             {"verdict", record.night.word},
             {"title", record.night.title()},
             {"reasons", record.night.reasons},
             {"exit_code", record.exit_code},
             {"rehearsal", nullable(record.rehearsal)},
             {"accepted", record.accepted},
             {"accepted_now", nullptr},
             {"last_success", success ? json{{"run", record.run.run_id}, {"utc", now}} : before},
             {"good_before", before.is_null() ? json() : before["run"]},
             {"libraries", libraries_of(record.run)},
             {"software", manifest["environment"]["treatment"]},
             {"history", (study.filename() / history_schema().file).string()}};
  for (const char* const name :
       {"study", "started_utc", "tool", "hosts", "suspects", "suspect_line"}) {
    night[name] = manifest[name];
  }
  return night;
}

}  // namespace

fs::path write_night(const fs::path& results, const NightRecord& record) {
  const Manifest& run = record.run;
  const fs::path folder = results / "nightly" / run.run_id;
  const fs::path study = study_folder(results, run.study, run.environment);
  const std::vector<ResultRow> rows = history_rows(record.night, run);
  append_history(folder, rows);
  if (record.rehearsal.empty() && !record.night.cells.empty()) append_history(study, rows);
  write_file_atomically(folder / kNightRecord, document(json_of(record, study)));
  return folder;
}

void settle_night(const fs::path& results, const NightRecord& record) {
  const fs::path file = results / "nightly" / record.run.run_id / kNightRecord;
  const fs::path study = study_folder(results, record.run.study, record.run.environment);
  json written = record_in(file);
  if (record.exit_code == 0 && record.rehearsal.empty()) {
    fs::create_directories(study);
    write_file_atomically(study / kLastSuccess, document(written));
    return;
  }
  written["exit_code"] = record.exit_code;
  written["last_success"] = last_success_in(study);
  write_file_atomically(file, document(written));
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
  accept_build(results, run, reason);
  std::string said = fmt::format("accepted: {}, build {}\n", run_id, run.tool.name());
  const auto cells = cells_of(read_stored_run(results / run_id, WithSamples::no));
  const auto rows = accepted_rows(rows_in(folder, history_schema()), medians_of(cells));
  for (const ResultRow& row : rows) {
    said += row.get("verdict") == kDropped ? "dropped: " : "nights begin anew: ";
    said += row.get("label") + "\n";
  }
  append_history(study_folder(results, run.study, run.environment), rows);
  record["accepted_now"] = {{"utc", utc_label()}, {"reason", reason}};
  write_file_atomically(folder / kNightRecord, document(record));
  return said;
}

}  // namespace scalebench
