// SPDX-License-Identifier: Apache-2.0
// One night's run as the gate sees it, and the nights before it: per cell and metric one number,
// that of the launch in the middle. Times are a metric of every cell; efficiency is one where a run
// also measured its base on one rank. With them what people say of runs.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"

namespace scalebench {

struct NightCell {
  std::string key;  // the cell's, with the metric: "epoch/3f2a90b1c4d5/2/efficiency"
  std::string case_id;
  std::string origin;
  std::string bench;
  std::string family;       // "latency", ...
  std::string label;        // for people, apart from those of the run's other cells
  std::string short_label;  // without what tells it apart
  std::string ranks;
  std::string metric = "seconds";  // or efficiency
  double floor = 0.03;             // smallest relative change that counts
  std::string status = "ok";       // else that of the cell
  std::string note;
  std::vector<double> launches;  // the metric's value in each launch
  double value = 0;              // their median; NaN unless status is ok
  std::string time_key;          // efficiency: the cells of T(N)
  std::string base_key;          //             and of T(1)

  bool is_time() const { return metric == "seconds"; }
  /// As a logarithm in which larger is better.
  double y() const;
};

struct Night {
  std::string run_id;
  std::string started_utc;
  std::vector<NightCell> cells;
  std::string commit{};  // of the build that it measured; empty: not known
};

/// By cell key: seconds of today's build over seconds of the accepted one, one a round; NaN where a
/// round lacks one of them, so that rounds of different cells stay together.
using CellRatios = std::map<std::string, std::vector<double>>;

/// Tonight beside the accepted build, which ran in turns with today's: what both measured, round by
/// round.
struct BesideNight {
  std::string run_id;  // the run of that build which was accepted
  std::string build;   // for people: its commit
  std::string hash;    // of the build: the same one on other nights
  CellRatios ratios;
  CellRatios rerun_ratios;  // of the suspects and controls that were measured again
  Night accepted;  // its cells tonight: they do not change with the commit, so they are the host's
                   // controls
  Night accepted_rerun{};  // the same of the rerun
};

Night night_of(const StoredRun& run);

/// E = rho T(1) / (N T(N)) of cells that are of one run: of each epoch against one_device on one
/// rank, of each throughput step against the same step of one rank. Launches are paired by round
/// where both have as many, which takes out what changes during the night.
std::vector<NightCell> efficiency_cells(const std::vector<Cell>& cells);

// results/annotations.toml: what people say about runs, each with a reason. A change that is
// accepted (the level of its cells starts anew), a run that is no baseline, the run that a rolling
// baseline must not drift away from.

struct Annotation {
  std::string run;
  std::string cells = "*";  // accepted changes: pattern as of a shell, of a cell's label or key
  std::string reason;
};

struct Annotations {
  std::vector<Annotation> accepted;
  std::vector<Annotation> excluded;
  std::optional<Annotation> pinned;

  /// Null when the run is not excluded.
  const Annotation* excluded_run(const std::string& run) const;
};

/// None when there is no such file. Throws UsageError `file:line:column: what` for all that is
/// wrong with it.
Annotations read_annotations(const std::filesystem::path& file);

/// The text with one more annotation (`kind`: accept, exclude, pin); pinning replaces the old pin.
/// Throws UsageError when `text` or what comes out is not valid. `name` is that of the file.
std::string annotated(const std::string& text, const std::string& kind,
                      const Annotation& annotation, const std::string& name);

/// Whether a pattern means a cell.
bool matches(const std::string& pattern, const std::string& label, const std::string& key);
/// By its key or either of its labels.
bool matches(const std::string& pattern, const NightCell& cell);

// The nights before a night, out of the run folders beside it: which of them may be compared with
// it, and why the others may not. Fails closed: a folder that cannot be read is an error, never a
// shorter history.

struct LeftOut {
  std::string run_id;
  std::string why;
};

/// A regression that an earlier night's record says is open.
struct OpenBefore {
  std::string key;  // of the cell; "*": all cells together
  std::string since_run;
  std::string since_utc;
  double change = 0;          // relative, as found; negative: slower
  bool accepted_too = false;  // of the accepted build's own cell
};

/// In results/nightly/RUN: all that is known of a night.
inline constexpr const char* kNightRecord = "nightly.json";

struct RunHistory {
  std::vector<Night> nights;  // oldest first; before tonight
  std::vector<LeftOut> left_out;
  std::optional<Manifest> previous;  // of the last of them
  std::optional<Night> pinned;
  std::map<std::string, Night> reruns;        // by the run whose suspects they measured again
  std::map<std::string, BesideNight> beside;  // by the run of the night beside which they ran
  std::vector<OpenBefore> open;               // as the last night's record says
  /// When each run began, of all that are in the folder: what orders annotations.
  std::map<std::string, std::string> started;
};

/// Facts with different values, by name: [{"field": ..., "before": ..., "after": ...}]; null where
/// one is not known.
nlohmann::json fact_changes(const Facts& before, const Facts& after);

/// The one place that decides whether a run may be compared with: it ended in good order.
bool is_complete(const std::filesystem::path& folder, const Manifest& manifest);

/// Refuses, with UsageError, to measure a night while runs of its study began after `now_utc`: it
/// would be compared with nothing, and pass.
void require_clock(const std::filesystem::path& results, const std::string& study,
                   const std::string& now_utc, const Annotations& annotations);

/// Runs of the study of `tonight` in `results` that began before it: the last `most` of them, and
/// more where the last night's record says that a regression is open for longer, so that its
/// baseline is among them. Throws UsageError that names the file and the remedy when one cannot be
/// read.
RunHistory read_history(const std::filesystem::path& results, const Manifest& tonight,
                        const Annotations& annotations, std::size_t most);

}  // namespace scalebench
