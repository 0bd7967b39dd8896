// SPDX-License-Identifier: Apache-2.0
// The words for how a training step computes: in which precision, in which memory format, launched
// one by one or as a graph. bench_epoch takes one of each, bench_throughput lists of them.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/app.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct StepWords {
  std::string precision = "float32";
  std::string channels_last = "no";
  std::string step = "eager";
};

/// One way to compute a step.
struct StepVariant {
  Precision precision = Precision::float32;
  bool channels_last = false;
  bool graph = false;
};

void add_step_options(CLI::App& app, StepWords& words);

/// Every combination of what is listed, precisions outermost. Throws UsageError for a word that is
/// none.
std::vector<StepVariant> step_variants(const StepWords& words);

void apply(const StepVariant& variant, TrainerOptions& trainer);

/// As in result files: `eager` or `graph`.
constexpr const char* step_label(bool graph) { return graph ? "graph" : "eager"; }

}  // namespace scalebench
