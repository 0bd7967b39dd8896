// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "kernels/error.hpp"

namespace scalebench {

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
  if (rows.empty()) return;
  std::vector<ResultRow> all = read_history(file);
  all.insert(all.end(), rows.begin(), rows.end());
  std::filesystem::create_directories(file.parent_path());
  write_file_atomically(file, csv_text(history_schema(), all));
}

namespace {

MachineVerdict verdict_named(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(MachineVerdict::missing); ++i) {
    if (name_of(static_cast<MachineVerdict>(i)) == word) return static_cast<MachineVerdict>(i);
  }
  fail<UsageError>("{}: '{}' is no verdict of a night", history_schema().file, word);
}

}  // namespace

MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin) {
  MachineNights nights;
  for (const ResultRow& row : history) {
    if (row.get("origin") != origin) continue;
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
    if (row.get("key") == kTogether || word == kAccepted || word == kDropped) continue;
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
