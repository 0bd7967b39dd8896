// SPDX-License-Identifier: Apache-2.0
// What lines of a training's log can say, and the table of well-known logs: configs/presets.toml.
// kinds.hpp reads them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

enum class Says {
  epoch,                // which one this line is of
  step,                 // how far the epoch, or the training, has come
  steps,                // that an epoch has
  step_seconds,         // of the step, or the steps, before this line
  mean_step_seconds,    // of the epoch's steps so far
  epoch_seconds,        // of the whole epoch
  unit_seconds,         // of one of `steps`, whatever that is
  images_per_s,         // of all ranks
  images_per_s_each,    // of one rank
  images_per_s_so_far,  // of all ranks and the whole run: the last one counts
  accuracy,
  loss,  // tells the bar of an epoch from that of a prediction
  model,
  ranks,
  local_rank,  // ranks of one host introduce themselves
  batch,       // of one rank
  global_batch,
  samples,
};
constexpr std::size_t kSays = 18;

struct Pattern {
  Says says = Says::epoch;
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
