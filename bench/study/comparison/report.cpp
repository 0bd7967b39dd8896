// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/report.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/comparison/run_difference.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 1'000'000;
constexpr std::size_t kBytesARow = 2000;

}  // namespace

std::filesystem::path write_comparison(const std::string& folder, const CompareReport& report) {
  const std::uintmax_t bytes = kBytesNeeded + kBytesARow * report.comparison.rows.size();
  const std::filesystem::path path = ResultsFolder::at(folder, bytes).path();
  replace_rows(path, comparison_schema(), report.comparison.rows);
  replace_rows(path, cost_schema(), report.costs);
  replace_rows(path, break_even_schema(), report.break_even);
  const nlohmann::json json = compare_json(report);
  write_file_atomically(path / "compare.json",
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return path;
}

namespace {

using nlohmann::json;

std::string text_of(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

void write_rows(std::ostream& out, std::string_view name, const std::vector<ResultRow>& rows) {
  out << ",\n\"" << name << "\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out << (i > 0 ? ",\n" : "\n") << text_of(json_of(rows[i]));
  }
  out << "]";
}

}  // namespace

std::string time_text(const std::string& seconds) {
  if (seconds.empty()) return "-";
  const double value = std::stod(seconds);
  if (value < 1e-3) return fmt::format("{:.2f} us", value * 1e6);
  if (value < 1) return fmt::format("{:.3f} ms", value * 1e3);
  return fmt::format("{:.3f} s", value);
}

std::string summary_of(const CompareReport& report) {
  const Comparison& found = report.comparison;
  if (report.runs.size() == 1) return "";
  std::string text =
      fmt::format("{} cells: {} SAME, {} FASTER, {} SLOWER, {} AMBIGUOUS, {} MISSING",
                  found.tested() + found.missing, found.same, found.faster, found.slower,
                  found.ambiguous, found.missing);
  if (found.skipped > 0) text += fmt::format("; {} skipped by both", found.skipped);
  if (found.not_tested > 0) text += fmt::format("; {} shown, not tested", found.not_tested);
  text += fmt::format("; differences up to {:.1f} % do not count ({})\n", 100 * report.floor,
                      report.floor_from.empty() ? "the default" : report.floor_from);
  if (found.blind()) {
    text += fmt::format(
        "too few launches: {} a side can show no difference among {} cells; it takes {} or more\n",
        found.fewest_launches, found.tested(), found.launches_needed);
  }
  return text;
}

json compare_json(const CompareReport& report) {
  json runs = json::array();
  for (const CompareReport::Run& run : report.runs) {
    runs.push_back({{"letter", std::string(1, run.letter)},
                    {"run_id", run.manifest.run_id},
                    {"folder", run.folder.string()},
                    {"origin", run.manifest.origin},
                    {"manifest_sha256", run.manifest_sha256},
                    {"instance", run.instance ? json(run.instance->name) : json()},
                    {"differences", json_of(run.differences)}});
  }
  const Comparison& found = report.comparison;
  return {{"schema_version", kSchemaVersion},
          {"command", report.command},
          {"runs", runs},
          {"floor", report.floor},
          {"floor_from", report.floor_from},
          {"warnings", report.warnings},
          {"counts",
           {{"same", found.same},
            {"faster", found.faster},
            {"slower", found.slower},
            {"ambiguous", found.ambiguous},
            {"missing", found.missing},
            {"skipped", found.skipped},
            {"not_tested", found.not_tested}}},
          {"fewest_launches", found.fewest_launches},
          {"launches_needed", found.launches_needed},
          {"exit_code", static_cast<int>(report.code)}};
}

void write_json(std::ostream& out, const CompareReport& report) {
  std::string head = text_of(compare_json(report), 2);
  head.erase(head.find_last_of('}'));
  out << head.substr(0, head.find_last_not_of('\n') + 1);
  write_rows(out, "cells", report.comparison.rows);
  write_rows(out, "costs", report.costs);
  write_rows(out, "break_even", report.break_even);
  out << "}\n";
}

}  // namespace scalebench
