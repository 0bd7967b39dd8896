// SPDX-License-Identifier: Apache-2.0
// scalebench export otava RUN...: the cells of nights as Apache Otava reads them, for a second
// opinion on when something changed: a CSV file with a night a row and a metric a column, and the
// configuration that names them. Exit: ok; usage.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/launch/process.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCsv = "otava.csv";
constexpr const char* kConfig = "otava.yaml";

struct ExportOptions {
  std::string format;
  std::vector<std::string> runs;
  fs::path results = "results";
  fs::path out = "otava";
};

/// A cell of every run: its value in each, in the order of the runs.
struct Metric {
  std::string name;
  bool less_is_better = true;
  std::vector<double> values;
};

struct Nights {
  std::string study;
  std::vector<Night> nights;  // oldest first
};

Nights read_nights(const ExportOptions& options) {
  constexpr std::size_t kFewest = 2;
  Nights all;
  std::string first;
  for (const std::string& name : options.runs) {
    const fs::path folder = run_in(options.results, name);
    const StoredRun run = read_stored_run(folder, WithSamples::no);
    if (!is_complete(folder, run.manifest)) fail<UsageError>("{} is not complete", name);
    if (first.empty()) first = name;
    if (all.nights.empty()) all.study = run.manifest.study;
    if (run.manifest.study != all.study) {
      fail<UsageError>("{} is of study '{}' and {} of '{}': export one study at a time", first,
                       all.study, name, run.manifest.study);
    }
    all.nights.push_back(night_of(run));
  }
  std::ranges::sort(all.nights, {}, &Night::started_utc);
  const auto twice =
      std::ranges::adjacent_find(all.nights, {}, [](const Night& night) { return night.run_id; });
  if (twice != all.nights.end()) fail<UsageError>("{} is given twice", twice->run_id);
  if (all.nights.size() < kFewest) fail<UsageError>("export otava takes at least {} runs", kFewest);
  return all;
}

/// Of the cells that every night has measured, in the order of the last one. `left_out` counts the
/// others: Otava knows no missing value.
std::vector<Metric> metrics_of(const std::vector<Night>& nights, std::size_t& left_out) {
  std::map<std::string, std::vector<double>> values;
  for (const Night& night : nights) {
    for (const NightCell& cell : night.cells) {
      if (std::isnan(cell.y())) continue;
      values[cell.key].push_back(cell.value);
    }
  }
  std::map<std::string, std::size_t> named;
  std::vector<Metric> metrics;
  for (const NightCell& cell : nights.back().cells) {
    const auto own = values.find(cell.key);
    if (own == values.end() || own->second.size() != nights.size()) continue;
    // Labels leave out what nearly all cells share.
    const std::string name = cell.label + " " + cell.metric;
    const std::size_t before = named[name]++;
    metrics.push_back({before == 0 ? name : fmt::format("{} ({})", name, cell.key), cell.is_time(),
                       std::move(own->second)});
    values.erase(own);
  }
  left_out = values.size();
  return metrics;
}

std::string csv_of(const std::vector<Night>& nights, const std::vector<Metric>& metrics) {
  std::vector<std::string> header{"time", "run", "commit"};
  for (const Metric& metric : metrics) header.push_back(metric.name);
  std::string text = csv_line(header);
  for (std::size_t k = 0; k < nights.size(); ++k) {
    std::vector<std::string> row{nights[k].started_utc, nights[k].run_id, nights[k].commit};
    for (const Metric& metric : metrics) row.push_back(fmt::format("{:.9g}", metric.values[k]));
    text += csv_line(row);
  }
  return text;
}

/// As a YAML string: JSON's are.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string config_of(const std::string& study, const fs::path& csv,
                      const std::vector<Metric>& metrics) {
  std::string text = fmt::format(
      "tests:\n  {}:\n    type: csv\n    file: {}\n    time_column: time\n"
      "    attributes: [run, commit]\n    metrics:\n",
      quoted(study), quoted(csv.string()));
  for (const Metric& metric : metrics) {
    text +=
        fmt::format("      {0}:\n        column: {0}\n        direction: {1}\n        scale: 1\n",
                    quoted(metric.name), metric.less_is_better ? -1 : 1);
  }
  return text;
}

ExitCode export_runs(const ExportOptions& options) {
  constexpr std::array<std::string_view, 1> kFormats{"otava"};
  require_known("export", options.format, kFormats);
  const Nights all = read_nights(options);
  std::size_t left_out = 0;
  const std::vector<Metric> metrics = metrics_of(all.nights, left_out);
  if (metrics.empty()) fail<UsageError>("no cell was measured in each of these runs");
  Console console(/*speaks=*/true, /*quiet=*/false);
  fs::create_directories(options.out);
  const fs::path csv = options.out / kCsv;
  write_file_atomically(csv, csv_of(all.nights, metrics));
  write_file_atomically(options.out / kConfig,
                        config_of(all.study, fs::absolute(csv).lexically_normal(), metrics));
  if (left_out > 0) {
    console.warn(fmt::format("{} cells are left out: not every run has measured them", left_out));
  }
  const std::string analyze = shell_line(
      {"otava", "analyze", all.study, "--config-file", (options.out / kConfig).string()});
  console.result(
      fmt::format("{} runs, {} metrics: {}\n", all.nights.size(), metrics.size(), analyze));
  return ExitCode::ok;
}

}  // namespace

void add_export(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ExportOptions>(verb, invocation, export_runs);
  verb.add_option("format", options.format, "otava")->required();
  verb.add_option("runs", options.runs, "nights of one study, in any order")->required();
  add_shown(verb, "--results", options.results, "the folder of runs");
  add_shown(verb, "--out", options.out, "folder for otava.csv and otava.yaml");
}

}  // namespace scalebench
