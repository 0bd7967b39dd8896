// SPDX-License-Identifier: Apache-2.0
// What lines of a training's log can say, and the table of well-known logs: configs/presets.toml.
// kinds.hpp reads them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// What a line can say; configs/presets.toml explains each.
inline constexpr std::string_view kSays =
    "epoch step steps step_seconds mean_step_seconds epoch_seconds unit_seconds images_per_s "
    "images_per_s_each images_per_s_so_far accuracy loss model ranks local_rank batch global_batch "
    "samples";

struct Pattern {
  std::string says;  // one of kSays
  std::string expression;
  double factor = 1;  // to seconds, or to a share
};

struct Preset {
  std::string name;
  std::string reads;    // which programs' logs
  std::string needs;    // what these logs do not hold: "ranks, samples"
  std::string sync;     // what exchanges the gradients of several ranks; empty: could be several
  std::string excerpt;  // some lines of such a log
  std::vector<Pattern> patterns;
};

/// Throws UsageError `file:line:column: what` for a damaged file.
std::vector<Preset> read_presets(const std::filesystem::path& path);

}  // namespace scalebench
