// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/history.hpp"

#include <fmt/ranges.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "bench/measure/statistics.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/analysis/scaling.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/nightly/baseline.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

/// In place of kFloor.
constexpr double kLatencyFloor = 0.05;

NightCell described(const Cell& cell, const std::string& label) {
  NightCell night;
  night.key = cell.key + "/seconds";
  night.case_id = cell.row.get("case_id");
  night.origin = cell.row.get("origin");
  night.bench = cell.key.substr(0, cell.key.find('/'));
  night.family = name_of(cell.family);
  night.label = label;
  night.short_label = label_of(cell.row);
  night.ranks = text_in(cell.row, "ranks");
  night.floor = cell.family == CellFamily::latency ? kLatencyFloor : kFloor;
  night.status = cell.status;
  night.note = cell.note;
  night.value = std::nan("");
  return night;
}

/// What T(1) is taken from, for epochs as in scaling.csv; null: there is none.
const Cell* base_of(const Cell& leg, const std::vector<Cell>& cells) {
  std::vector<const ResultRow*> epochs;
  for (const Cell& cell : cells) {
    if (cell.family == CellFamily::epoch && cell.measured()) epochs.push_back(&cell.row);
  }
  const bool is_epoch = leg.family == CellFamily::epoch;
  const ResultRow* const one = is_epoch ? bases_of(leg.row, epochs).one : nullptr;
  const auto found = std::ranges::find_if(cells, [&](const Cell& cell) {
    if (is_epoch) return &cell.row == one;
    return cell.family == leg.family && cell.measured() && text_in(cell.row, "ranks") == "1" &&
           cell.row.get("origin") == leg.row.get("origin") &&
           cell.row.get("case_id") == leg.row.get("case_id");
  });
  return found == cells.end() ? nullptr : &*found;
}

NightCell efficiency_of(const Cell& leg, const Cell& one, const std::string& label) {
  NightCell night = described(leg, label);
  night.key = leg.key + "/efficiency";
  night.metric = "efficiency";
  night.floor = kFloor;
  night.time_key = leg.key + "/seconds";
  night.base_key = one.key + "/seconds";
  // Weak scaling does N times the work: of throughput every rank's step is a step of its own.
  const double rho =
      leg.family == CellFamily::throughput ? number_in(leg.row, "ranks") : rho_of(leg.row, one.row);
  const int ranks = static_cast<int>(number_in(leg.row, "ranks"));
  for (const auto& [round, efficiency] :
       efficiencies(one.seconds_by_round(), leg.seconds_by_round(), rho, ranks)) {
    night.launches.push_back(efficiency);
  }
  night.value = median_of(night.launches);
  if (night.launches.empty()) {
    night.value = rho / ranks * median_of(one.seconds) / median_of(leg.seconds);
    night.note = "no round has both T(1) and T(N): a ratio of medians";
  }
  return night;
}

}  // namespace

double NightCell::y() const {
  if (status != "ok" || !(value > 0)) return std::nan("");
  return is_time() ? -std::log(value) : std::log(value);
}

std::vector<NightCell> efficiency_cells(const std::vector<Cell>& cells) {
  std::vector<NightCell> found;
  const auto labels = labels_of(cells);
  for (const Cell& leg : cells) {
    const bool scales = leg.family == CellFamily::epoch || leg.family == CellFamily::throughput;
    if (!scales || !leg.measured() || text_in(leg.row, "ranks") == "1" ||
        (leg.family == CellFamily::epoch && is_share(leg.row))) {
      continue;
    }
    if (const Cell* const one = base_of(leg, cells)) {
      found.push_back(efficiency_of(leg, *one, labels.at(leg.key)));
    }
  }
  return found;
}

Night night_of(const StoredRun& run) {
  Night night{
      run.manifest.run_id, run.manifest.started_utc, {}, run.manifest.tool.commit.value_or("")};
  const std::vector<Cell> cells = cells_of(run);
  const auto labels = labels_of(cells);
  for (const Cell& cell : cells) {
    NightCell& time = night.cells.emplace_back(described(cell, labels.at(cell.key)));
    if (!cell.measured()) continue;
    time.launches = cell.seconds;
    time.value = median_of(cell.seconds);
  }
  std::ranges::move(efficiency_cells(cells), std::back_inserter(night.cells));
  return night;
}

namespace {

Annotation annotation_of(TomlReader& reader, const toml::table& table, bool has_cells) {
  Annotation annotation;
  reader.text(table, "run", annotation.run);
  if (has_cells) reader.text(table, "cells", annotation.cells);
  reader.text(table, "reason", annotation.reason);
  reader.required(table, "run");
  reader.required(table, "reason");
  // A run is a folder of the results: a name, never a path.
  const bool path =
      annotation.run.find('/') != std::string::npos || annotation.run.starts_with('.');
  if (path) reader.complain(*table.get("run"), "run: expected the name of a run, not a path");
  for (const auto& [key, text] : {std::pair("run", annotation.run),
                                  {"cells", annotation.cells},
                                  {"reason", annotation.reason}}) {
    const bool blank = text.find_first_not_of(" \t\n") == std::string::npos;
    if (blank && table.contains(key)) {
      reader.complain(*table.get(key), fmt::format("{}: must not be empty", key));
    }
  }
  reader.no_other_keys(table);
  return annotation;
}

Annotations annotations_of(const std::string& text, const std::string& name) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<UsageError>("{}:{}:{}: {}", name, at.line, at.column, error.description());
  }
  TomlReader reader(name);
  Annotations annotations;
  for (const toml::table* const table : reader.tables(root, "accepted")) {
    annotations.accepted.push_back(annotation_of(reader, *table, true));
  }
  for (const toml::table* const table : reader.tables(root, "excluded")) {
    annotations.excluded.push_back(annotation_of(reader, *table, false));
  }
  if (const toml::table* const table = reader.table(root, "pinned")) {
    annotations.pinned = annotation_of(reader, *table, false);
  }
  reader.no_other_keys(root);
  reader.throw_complaints();
  return annotations;
}

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

/// Without the lines of the table `pinned`, comments and all else kept: only one run can be pinned.
std::string without_pin(const std::string& text) {
  const toml::table root = toml::parse(text);
  const toml::table* const pinned = root["pinned"].as_table();
  if (pinned == nullptr) return text;
  std::set<std::uint32_t> gone;
  const auto leave_out = [&](const toml::node& node) {
    const toml::source_region& source = node.source();
    for (auto line = source.begin.line; line <= source.end.line; ++line) gone.insert(line);
  };
  leave_out(*pinned);
  for (const auto& [key, value] : *pinned) leave_out(value);
  std::istringstream lines(text);
  std::string kept;
  std::uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!gone.contains(++number)) kept += line + "\n";
  }
  return kept;
}

}  // namespace

const Annotation* Annotations::excluded_run(const std::string& run) const {
  const auto found = std::ranges::find(excluded, run, &Annotation::run);
  return found == excluded.end() ? nullptr : &*found;
}

Annotations read_annotations(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return annotations_of(read_file(file), file.string());
}

std::string annotated(const std::string& text, const std::string& kind,
                      const Annotation& annotation, const std::string& name) {
  annotations_of(text, name);
  const bool pins = kind == "pin";
  std::string out = pins ? without_pin(text) : text;
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  if (!out.empty()) out += '\n';
  out += pins ? "[pinned]\n" : kind == "accept" ? "[[accepted]]\n" : "[[excluded]]\n";
  out += fmt::format("run = {}\n", quoted(annotation.run));
  if (kind == "accept") out += fmt::format("cells = {}\n", quoted(annotation.cells));
  out += fmt::format("reason = {}\n", quoted(annotation.reason));
  annotations_of(out, name);
  return out;
}

bool matches(const std::string& pattern, const std::string& label, const std::string& key) {
  return fnmatch(pattern.c_str(), label.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), key.c_str(), 0) == 0;
}

bool matches(const std::string& pattern, const NightCell& cell) {
  return matches(pattern, cell.label, cell.key) || matches(pattern, cell.short_label, cell.key);
}

namespace {

namespace fs = std::filesystem;

struct Candidate {
  fs::path folder;
  Manifest manifest;
};

[[noreturn]] void refuse(const fs::path& folder, const std::string& what) {
  fail<UsageError>(
      "{}: a damaged run is no history: repair or remove the folder, or leave it out: scalebench "
      "annotate exclude {} --reason TEXT",
      what, folder.filename().string());
}

/// Every run of the folder, oldest first. What has no manifest and was never finished is no run.
std::vector<Candidate> runs_in(const fs::path& results, const Annotations& annotations) {
  std::vector<Candidate> runs;
  if (!fs::exists(results)) return runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    const std::string name = entry.path().filename().string();
    const bool is_run = entry.is_directory() && (fs::exists(entry.path() / "manifest.json") ||
                                                 fs::exists(entry.path() / "COMPLETE"));
    if (!is_run || is_only_taken(entry.path())) continue;
    if (name.starts_with('.') || annotations.excluded_run(name) != nullptr) continue;
    try {
      runs.push_back({entry.path(), read_manifest(entry.path())});
    } catch (const UsageError& error) {
      // aa_before says so of an A/A comparison, which is no history anyway.
      if (!is_aa_run(entry.path())) refuse(entry.path(), error.what());
    }
  }
  std::ranges::sort(runs, {}, [](const Candidate& run) {
    return std::pair(run.manifest.started_utc, run.manifest.run_id);
  });
  return runs;
}

/// Fields of the key that differ, as "cores: 2, tonight 4"; empty: the same kind of machine.
std::string key_difference(const Facts& before, const Facts& tonight) {
  std::vector<std::string> differences;
  for (const nlohmann::json& change : fact_changes(before, tonight)) {
    differences.push_back(fmt::format("{}: {}, tonight {}", change["field"].get<std::string>(),
                                      change["before"].dump(), change["after"].dump()));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

/// Why a run of this study is no baseline; empty when it may be one.
std::string why_not(const Candidate& run, const Manifest& tonight) {
  const Manifest& manifest = run.manifest;
  if (!is_complete(run.folder, manifest)) return fmt::format("its status is {}", manifest.status);
  if (manifest.origin != tonight.origin) {
    return fmt::format("its numbers are {}, tonight's {}", manifest.origin, tonight.origin);
  }
  if (!manifest.tool.optimized || manifest.tool.sanitized) {
    return "degraded: built without optimisation or with a sanitizer";
  }
  const std::string key = key_difference(manifest.environment.key, tonight.environment.key);
  return key.empty() ? "" : fmt::format("another machine: {}", key);
}

Night night_in(const fs::path& folder) {
  try {
    return night_of(read_stored_run(folder, WithSamples::no));
  } catch (const std::exception& error) {
    refuse(folder, error.what());
  }
}

}  // namespace

nlohmann::json fact_changes(const Facts& before, const Facts& after) {
  std::set<std::string> names;
  for (const Facts* const facts : {&before, &after}) {
    for (const auto& [name, fact] : *facts) names.insert(name);
  }
  const auto value = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? nlohmann::json() : found->second.value;
  };
  nlohmann::json changes = nlohmann::json::array();
  for (const std::string& name : names) {
    const nlohmann::json a = value(before, name), b = value(after, name);
    if (a != b) changes.push_back({{"field", name}, {"before", a}, {"after", b}});
  }
  return changes;
}

bool is_complete(const fs::path& folder, const Manifest& manifest) {
  // A run that never got its COMPLETE ended in the middle, whatever its manifest says.
  return manifest.status == "complete" && fs::exists(folder / "COMPLETE");
}

void require_clock(const fs::path& results, const std::string& study, const std::string& now_utc,
                   const Annotations& annotations) {
  for (const Candidate& run : runs_in(results, annotations)) {
    if (run.manifest.study != study || run.manifest.started_utc <= now_utc) continue;
    fail<UsageError>(
        "{} began at {}, and the clock says {}: set the clock, or leave that run out: scalebench "
        "annotate exclude {} --reason TEXT",
        run.folder.string(), run.manifest.started_utc, now_utc, run.folder.filename().string());
  }
}

namespace {

/// What the latest record of these runs, oldest first, says is open. Reads results/nightly/RUN;
/// what cannot be read is named, and the one before is taken.
std::vector<OpenBefore> open_before(const fs::path& results,
                                    const std::vector<const Candidate*>& runs,
                                    std::vector<LeftOut>& left_out) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const std::string name = (*run)->folder.filename().string();
    const fs::path file = results / "nightly" / name / kNightRecord;
    if (!fs::exists(file)) continue;
    const nlohmann::json record = json_or_null(read_file(file));
    if (!record.is_object()) {
      left_out.push_back({name,
                          "its nightly.json is damaged: what it had found open is looked "
                          "for in the record before it, and in the runs again"});
      continue;
    }
    if (record.value("schema_version", nlohmann::json()) != kSchemaVersion) {
      fail<UsageError>(
          "{}: schema_version {}; valid: {}: judge that night again: scalebench "
          "nightly --analyse {}",
          file.string(), record.value("schema_version", nlohmann::json()).dump(), kSchemaVersion,
          name);
    }
    std::vector<OpenBefore> open;
    for (const auto& one : record.value("open", nlohmann::json::array())) {
      const bool known = one.is_object() && one.contains("found_change") &&
                         one["found_change"].is_number() && one["found_change"] > -1;
      if (!known) continue;
      open.push_back({text_in(one, "key"), text_in(one, "since_run"), text_in(one, "since_utc"),
                      one["found_change"].get<double>(),
                      one.value("accepted_too", nlohmann::json()) == true});
    }
    return open;
  }
  return {};
}

/// The last `most` runs, and those from which what is open has its baseline.
void keep_last(std::vector<const Candidate*>& runs, std::size_t most,
               const std::vector<OpenBefore>& open) {
  // Twice as many as make a baseline, since some may be none.
  constexpr std::size_t kBefore = 2 * kBaselineNights;
  std::size_t first = runs.size() > most ? runs.size() - most : 0;
  for (const OpenBefore& one : open) {
    const auto since = std::ranges::find_if(runs, [&](const Candidate* const run) {
      return run->folder.filename().string() == one.since_run;
    });
    if (since == runs.end()) continue;
    const auto place = static_cast<std::size_t>(since - runs.begin());
    first = std::min(first, place > kBefore ? place - kBefore : 0);
  }
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

RunHistory read_history(const fs::path& results, const Manifest& tonight,
                        const Annotations& annotations, std::size_t most) {
  RunHistory history;
  std::vector<const Candidate*> usable;
  const std::vector<Candidate> runs = runs_in(results, annotations);
  for (const Candidate& run : runs) {
    const std::string name = run.folder.filename().string();
    history.started[name] = run.manifest.started_utc;
    const bool before =
        std::pair(run.manifest.started_utc, name) < std::pair(tonight.started_utc, tonight.run_id);
    if (run.manifest.study != tonight.study || name == tonight.run_id || !before) continue;
    const std::string why = why_not(run, tonight);
    if (why.empty()) {
      usable.push_back(&run);
    } else {
      history.left_out.push_back({name, why});
    }
  }
  for (const Annotation& excluded : annotations.excluded) {
    history.left_out.push_back({excluded.run, "excluded: " + excluded.reason});
  }
  history.open = open_before(results, usable, history.left_out);
  keep_last(usable, most, history.open);
  std::set<std::string> with_reruns{tonight.run_id};
  for (const Candidate* const run : usable) {
    history.nights.push_back(night_in(run->folder));
    history.nights.back().run_id = run->folder.filename().string();
    with_reruns.insert(history.nights.back().run_id);
  }
  for (const Night& night : history.nights) {
    if (auto beside = beside_night(results, night.run_id)) {
      history.beside.emplace(night.run_id, std::move(*beside));
    }
  }
  if (!usable.empty()) history.previous = usable.back()->manifest;
  for (const Candidate& run : runs) {
    const std::string name = run.folder.filename().string();
    for (const std::string& of : with_reruns) {
      const bool its = name == rerun_name(of) && is_complete(run.folder, run.manifest);
      if (its) history.reruns.emplace(of, night_in(run.folder));
    }
    if (annotations.pinned && name == annotations.pinned->run) {
      const std::string why = why_not(run, tonight);
      if (why.empty()) {
        history.pinned = night_in(run.folder);
        history.pinned->run_id = name;
      } else {
        history.left_out.push_back({name, "pinned, but " + why});
      }
    }
  }
  return history;
}

}  // namespace scalebench
