// SPDX-License-Identifier: Apache-2.0
// What lines of a training's log can say, and the table of well-known logs: configs/presets.toml.
// kinds.hpp reads them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// What a line can say; configs/presets.toml explains each.
inline constexpr std::string_view kSays =
    "epoch step steps step_seconds mean_step_seconds epoch_seconds unit_seconds images_per_s "
    "images_per_s_each images_per_s_so_far accuracy loss model ranks local_rank batch global_batch "
    "samples";

struct Pattern {
  std::string says;  // one of kSays; of --metric a column
  std::string expression;
  double factor = 1;        // to seconds, or to a share; of --metric to the column's unit
  bool per_second = false;  // the log has how many a second, and ours are seconds
};

struct Preset {
  std::string name;
  std::string reads;    // which programs' logs
  std::string needs;    // what these logs do not hold: "ranks, samples"
  std::string sync;     // what exchanges the gradients of several ranks; empty: could be several
  std::string excerpt;  // some lines of such a log
  std::vector<Pattern> patterns;
};

/// What a line says by a pattern.
struct Said {
  const Pattern* pattern = nullptr;
  std::string_view text;
};
using Line = std::vector<Said>;

/// Null where the line does not say it.
const Said* said_in(const Line& line, std::string_view word);

class LogPatterns {
 public:
  /// `preset` outlives it.
  explicit LogPatterns(const Preset& preset);

  /// Of a preset an expression that stands first goes before others of its word; metrics of one
  /// column are its parts.
  Line read(const ForeignLine& text) const;

 private:
  bool is_preset_;
  std::vector<std::pair<const Pattern*, LinePattern>> patterns_;
};

/// Throws UsageError `file:line:column: what` for a damaged file.
std::vector<Preset> read_presets(const std::filesystem::path& path);

}  // namespace scalebench
