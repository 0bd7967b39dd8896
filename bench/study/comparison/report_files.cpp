// SPDX-License-Identifier: Apache-2.0
// A comparison as files and as one JSON document.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/comparison/report.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 1'000'000;
constexpr std::size_t kBytesARow = 2000;

/// Everything but the rows.
nlohmann::json json_of(const CompareReport& report) {
  nlohmann::json runs = nlohmann::json::array();
  for (const CompareReport::Run& run : report.runs) {
    nlohmann::json instance;
    if (run.instance) instance = run.instance->name;
    runs.push_back({{"letter", std::string(1, run.letter)},
                    {"run_id", run.manifest.run_id},
                    {"folder", run.folder.string()},
                    {"origin", run.manifest.origin},
                    {"manifest_sha256", run.manifest_sha256},
                    {"instance", instance},
                    {"differences", json_of(run.differences)},
                    {"config", run.config}});
  }
  const Comparison& found = report.comparison;
  return {{"command", report.command},
          {"runs", runs},
          {"floor", kFloor},
          {"latency_floor", kLatencyFloor},
          {"warnings", report.warnings},
          {"counts",
           {{"tested", found.tested()},
            {"same", found.same},
            {"faster", found.faster},
            {"slower", found.slower},
            {"undecided", found.undecided},
            {"missing", found.missing},
            {"skipped", found.skipped},
            {"not_tested", found.not_tested}}},
          {"exit_code", static_cast<int>(report.code)}};
}

void write_rows(std::ostream& out, std::string_view name, const std::vector<ResultRow>& rows) {
  out << ",\n\"" << name << "\": [";
  const char* before = "\n";
  for (const ResultRow& row : rows) {
    out << before << json_of(row).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    before = ",\n";
  }
  out << "]";
}

}  // namespace

void write_json(std::ostream& out, const CompareReport& report) {
  std::string head = document(json_of(report));
  head.erase(head.find_last_of('}'));
  out << head.substr(0, head.find_last_not_of('\n') + 1);
  write_rows(out, "cells", report.comparison.rows);
  write_rows(out, "costs", report.costs);
  write_rows(out, "decisions", report.decisions);
  out << "}\n";
}

std::filesystem::path write_comparison(const std::string& folder, const CompareReport& report) {
  const std::uintmax_t bytes = kBytesNeeded + kBytesARow * report.comparison.rows.size();
  const ResultsFolder claimed = ResultsFolder::at(folder, bytes);
  const std::filesystem::path& path = claimed.path();
  replace_rows(path, comparison_schema(), report.comparison.rows);
  replace_rows(path, cost_schema(), report.costs);
  nlohmann::json body = json_of(report);
  body["decisions"] = nlohmann::json::array();
  for (const ResultRow& row : report.decisions) {
    body["decisions"].push_back(nlohmann::json(json_of(row)));
  }
  write_file_atomically(path / "compare.json", document(std::move(body)));
  claimed.release();
  return path;
}

}  // namespace scalebench
