// SPDX-License-Identifier: Apache-2.0
// results/annotations.toml: what people say about runs, each with a reason. A change that is
// accepted (the level of its cells starts anew), a run that is no baseline, the run that a rolling
// baseline must not drift away from.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/study/nightly/night.hpp"

namespace scalebench {

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

// The nights before a night, out of the run folders beside it: which of them may be compared with
// it, and why the others may not. Fails closed: a folder that cannot be read is an error, never a
// shorter history.

struct LeftOut {
  std::string run_id;
  std::string why;
};

struct RunHistory {
  std::vector<Night> nights;  // oldest first; before tonight
  std::vector<LeftOut> left_out;
  std::optional<Manifest> previous;  // of the last of them
  std::optional<Night> pinned;
  std::map<std::string, Night> reruns;  // by the run whose suspects they measured again
  /// When each run began, of all that are in the folder: what orders annotations.
  std::map<std::string, std::string> started;
};

/// The one place that decides whether a run may be compared with: it ended in good order.
bool is_complete(const std::filesystem::path& folder, const Manifest& manifest);

/// The name of the run that measures a night's suspects again.
std::string rerun_name(const std::string& run_id);

/// Runs of the study of `tonight` in `results` that began before it, the last `most` of them.
/// Throws UsageError that names the file and the remedy when one cannot be read.
RunHistory read_history(const std::filesystem::path& results, const Manifest& tonight,
                        const Annotations& annotations, std::size_t most);

}  // namespace scalebench
