// SPDX-License-Identifier: Apache-2.0
// The nights before a night, out of the run folders beside it: which of them may be compared with
// it, and why the others may not. Fails closed: a folder that cannot be read is an error, never a
// shorter history.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/study/annotations.hpp"
#include "bench/study/night.hpp"

namespace scalebench {

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
