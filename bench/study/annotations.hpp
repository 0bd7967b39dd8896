// SPDX-License-Identifier: Apache-2.0
// results/annotations.toml: what people say about runs, each with a reason. A change that is
// accepted (the level of its cells starts anew), a run that is no baseline, the run that a rolling
// baseline must not drift away from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace scalebench
