// SPDX-License-Identifier: Apache-2.0
// A comparison as files.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/comparison/report.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 5'000'000;

/// Each type once, with its price.
nlohmann::json instances_of(const std::vector<Cost>& costs) {
  std::map<std::string, nlohmann::json> types;
  for (const Cost& cost : costs) {
    const Instance& type = cost.instance;
    types[type.name] = {{"name", type.name},
                        {"usd_per_hour", type.usd_per_hour},
                        {"currency", type.currency},
                        {"price_date", type.price_date},
                        {"price_source", type.price_source}};
  }
  nlohmann::json list = nlohmann::json::array();
  for (auto& [name, type] : types) list.push_back(std::move(type));
  return list;
}

/// Everything but the cells.
nlohmann::json json_of(const CompareReport& report) {
  nlohmann::json runs = nlohmann::json::array();
  for (const ComparedRun& run : report.runs) {
    nlohmann::json instance;
    if (run.instance) instance = run.instance->name;
    runs.push_back({{"letter", std::string(1, run.letter)},
                    {"run_id", run.manifest.run_id},
                    {"folder", run.folder.string()},
                    {"origin", run.manifest.origin},
                    {"manifest_sha256", run.manifest_sha256},
                    {"instance", instance}});
  }
  nlohmann::json costs = nlohmann::json::array(), decisions = nlohmann::json::array();
  for (const Cost& cost : report.costs) costs.push_back(json_of(cost));
  for (const Decision& decision : report.decisions) decisions.push_back(json_of(decision));
  const Comparison& found = report.comparison;
  return {{"command", report.command},
          {"runs", runs},
          {"instances", instances_of(report.costs)},
          {"costs", costs},
          {"decisions", decisions},
          {"answers", answers_of(report)},
          {"warnings", report.warnings},
          {"counts",
           {{"tested", found.tested()},
            {"same", found.count(Verdict::same)},
            {"faster", found.count(Verdict::faster)},
            {"slower", found.count(Verdict::slower)},
            {"undecided", found.count(Verdict::undecided)},
            {"missing", found.count(Verdict::missing)},
            {"skipped", found.skipped},
            {"not_tested", found.not_tested}}},
          {"exit_code", static_cast<int>(report.code)}};
}

}  // namespace

std::filesystem::path write_comparison(const std::string& folder, const CompareReport& report) {
  std::filesystem::path path = own_folder(folder, kBytesNeeded);
  replace_rows(path, comparison_schema(), report.comparison.rows);
  write_file_atomically(path / "compare.json", document(json_of(report)));
  return path;
}

}  // namespace scalebench
