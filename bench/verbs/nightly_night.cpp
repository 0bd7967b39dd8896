// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/nightly_night.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/collect.hpp"
#include "bench/study/gate_rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNightFile = "nightly.json";
constexpr std::size_t kTailBytes = 2000;

std::string tail_of(const fs::path& file) {
  if (!fs::exists(file)) return "";
  const std::string text = read_file(file);
  return text.size() <= kTailBytes ? text
                                   : fmt::format("...{}", text.substr(text.size() - kTailBytes));
}

void write_rows(const fs::path& folder, const Schema& schema, const std::vector<ResultRow>& rows) {
  // A reader sees the old file or the new one: rows are gathered under another name first.
  const fs::path temporary = folder / fmt::format(".{}.new", schema.file);
  fs::remove(temporary);
  {
    CsvWriter file(temporary, schema.columns);
    for (const ResultRow& row : rows) file.append(row.cells());
  }
  fs::rename(temporary, folder / schema.file);
}

/// From rows of certificate.csv. The largest of a few cells stands for their spread.
AaCheck aa_check(const std::vector<ResultRow>& rows, const std::string& run) {
  AaCheck check{run};
  const auto raise = [](double& most, double value) {
    if (!std::isnan(value) && !(value <= most)) most = value;
  };
  for (const ResultRow& row : rows) {
    if (row.get("status") == "skipped") continue;
    ++check.cells;
    const std::string& verdict = row.get("verdict");
    check.differing += verdict == "FASTER" || verdict == "SLOWER" ? 1 : 0;
    const double ratio = number_in(row, "ratio");
    raise(check.spread, std::max(ratio, 1 / ratio) - 1);
    raise(check.smallest_effect, number_in(row, "smallest_effect"));
  }
  return check;
}

}  // namespace

Analysis analyse(const fs::path& results, const StoredRun& tonight, std::size_t nights) {
  Analysis analysis;
  Manifest manifest = tonight.manifest;
  manifest.run_id = tonight.folder.filename().string();
  analysis.input.annotations = read_annotations(results / "annotations.toml");
  analysis.input.tonight = night_of(tonight);
  analysis.input.tonight.run_id = manifest.run_id;
  analysis.input.history = read_history(results, manifest, analysis.input.annotations, nights);
  analysis.report = gate(analysis.input);
  return analysis;
}

std::string aa_study(const std::string& study) { return study + "-aa"; }

std::optional<AaCheck> aa_before(const fs::path& results, const Manifest& tonight,
                                 const std::optional<Manifest>& previous) {
  std::optional<AaCheck> latest;
  std::string started = previous ? previous->started_utc : "";
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    const std::string name = entry.path().filename().string();
    if (name.find(fmt::format("-{}-", aa_study(tonight.study))) == std::string::npos) continue;
    if (!fs::exists(entry.path() / certificate_schema().file)) continue;
    const Manifest manifest = read_manifest(entry.path());
    const bool between = manifest.started_utc > started &&
                         manifest.started_utc <= tonight.started_utc &&
                         manifest.study == aa_study(tonight.study);
    if (!between) continue;
    started = manifest.started_utc;
    latest = aa_check(rows_in(entry.path(), certificate_schema()), name);
  }
  return latest;
}

std::vector<FailedLaunch> failed_launches(const StoredRun& run) {
  std::vector<FailedLaunch> failed;
  for (const LaunchRecord& launch : run.manifest.launches) {
    if (launch.status != "failed") continue;
    FailedLaunch& its = failed.emplace_back();
    its.number = launch.number;
    its.why = launch.note;
    its.name = launch.program;
    const std::string prefix = fmt::format("{:03}-", launch.number);
    if (!fs::exists(run.folder / "launches")) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(run.folder / "launches")) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      its.name = name.substr(prefix.size());
      its.stderr_tail = tail_of(entry.path() / "stderr.log");
    }
  }
  return failed;
}

fs::path night_folder(const fs::path& results, const std::string& run_id) {
  fs::path folder = results / "nightly" / run_id;
  fs::create_directories(folder);
  return folder;
}

void write_tables(const fs::path& folder, const GateReport& report) {
  write_rows(folder, gate_schema(), gate_rows(report));
  write_rows(folder, history_schema(), history_rows(report));
}

nlohmann::json measured_before(const fs::path& folder) {
  const fs::path file = folder / kNightFile;
  if (!fs::exists(file)) return nullptr;
  // It can be made again, so that a damaged one is no loss.
  return nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
}

void write_night(const fs::path& folder, const NightRecord& night, const Analysis& analysis) {
  const nlohmann::json json = json_of(night, analysis.input, analysis.report);
  write_file_atomically(folder / kNightFile,
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::size_t publish(const fs::path& folder, const fs::path& to) {
  constexpr std::array kFiles{"report.html",     "report.md", "junit.xml",   "github.txt",
                              "scalebench.prom", "gate.csv",  "history.csv", kNightFile};
  fs::create_directories(to);
  std::size_t count = 0;
  for (const char* const name : kFiles) {
    if (!fs::exists(folder / name)) continue;
    write_file_atomically(to / name, read_file(folder / name));
    ++count;
  }
  return count;
}

}  // namespace scalebench
