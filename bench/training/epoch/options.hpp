// SPDX-License-Identifier: Apache-2.0
// The command line of bench_epoch.
#pragma once

#include <string>
#include <string_view>

#include "bench/program/fault.hpp"
#include "bench/training/epoch/checkpoints.hpp"
#include "bench/training/options.hpp"

namespace scalebench {

struct EpochOptions {
  TrainingOptions training;
  std::string scaling = "strong";
  std::string allreduce = "ring";
  std::string transport = "auto";
  int epochs = 1;
  int warm_up_steps = 10;
  bool evaluate = true;
  double target_accuracy = 0;  // training ends when the test accuracy reaches it; 0: none
  CheckpointOptions checkpoints;
  Injections injections;       // those of steps are also the trainer's faults
  std::string timeline;        // file; empty: none
  std::string record_trace;    // file; empty: none
  double timeout_seconds = 0;  // of the watchdog; 0: its own, more for long steps
  std::string text;
};

/// Throws UsageError in one line for anything that is not valid.
EpochOptions parse_epoch_options(int argc, const char* const* argv, int ranks);

// Options as text, for case ids and tables.

/// The options that matter to that gradient sync, canonically. Empty for one that has none.
std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options);

/// What an epoch reads, as far as it differs from the defaults, with a space before each.
std::string text_of_input(const TrainerOptions& options);

}  // namespace scalebench
