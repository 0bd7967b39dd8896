// SPDX-License-Identifier: Apache-2.0
// What lines of a training's log can say, and the table of well-known logs: configs/presets.toml.
// kinds.hpp reads them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// What a line can say; configs/presets.toml explains each. The last are facts.
inline constexpr std::string_view kSays =
    "epoch step steps step_seconds mean_step_seconds epoch_seconds unit_seconds images_per_s "
    "images_per_s_each images_per_s_so_far run_images_per_s steps_per_s run_seconds run_epochs "
    "resumed accuracy loss local_rank model ranks batch global_batch samples";
inline constexpr std::string_view kFacts = kSays.substr(kSays.find("model"));

struct Pattern {
  std::string says;  // one of these; by --metric also "seconds", "epoch_name" and other columns
  LinePattern expression;
  bool is_fact = false;     // the same in the whole log, in a column of that name
  double factor = 1;        // to seconds, or to a share
  bool per_second = false;  // the log has how many a second, and ours are seconds
};

struct Preset {
  std::string name;     // empty: of --metric
  std::string reads;    // which programs' logs
  std::string needs;    // what these logs do not hold: "ranks, samples"
  std::string sync;     // what exchanges the gradients of several ranks; empty: could be several
  std::string excerpt;  // some lines of such a log
  std::vector<Pattern> patterns;
};

/// "column=expression" or "column:unit=expression", as "seconds:ms=step took ([0-9.]+)" in the
/// syntax of LinePattern. Throws UsageError for an unknown column or unit, one named twice, a bad
/// expression and one without a group. The preset has no name.
Preset parse_metrics(const std::vector<std::string>& texts, const Schema& schema);

/// What a line says by a pattern.
struct Said {
  const Pattern* pattern = nullptr;
  std::string_view text;
};
using Line = std::vector<Said>;

/// Of a preset an expression that stands first goes before others of its word; metrics of one
/// column are its parts. The preset outlives the answer.
Line read_line(const Preset& preset, const ForeignLine& text);

/// Null where the line does not say it.
const Said* said_in(const Line& line, std::string_view word);

/// Throws UsageError `file:line:column: what` for a damaged file.
std::vector<Preset> read_presets(const std::filesystem::path& path);

}  // namespace scalebench
