// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/history.hpp"

#include <algorithm>
#include <set>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

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

}  // namespace scalebench
