// SPDX-License-Identifier: Apache-2.0
// The options that bench_throughput and bench_epoch share: what is trained, on what, how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/app.hpp"
#include "bench/cli/console.hpp"
#include "bench/program.hpp"
#include "bench/recorder.hpp"
#include "bench/step_words.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct TrainingOptions {
  TrainerOptions trainer;
  StepWords step;
  std::vector<StepVariant> variants;  // what `step` means; the trainer has the first
  std::string device = "auto";
  std::string input_shape;  // of a TorchScript module: C,H,W
  std::string devices;      // of each host, such as 0,2; empty: all
  std::string format = "table";
  bool quiet = false;
  Color color = Color::automatic;
  bool monitor = false;
  RecordOptions record;
  std::vector<std::string> command;  // argv as typed
};

/// Adds the options to `app`, bound to `options`.
void add_training_options(CLI::App& app, TrainingOptions& options);

/// Fills in what the words mean, and the model. Throws UsageError for unknown names among them.
void apply_training_options(TrainingOptions& options);

/// Says what a program that no study started took from the managed job around it.
void note_job(const TrainingOptions& options, std::string_view checkpoints, Console& console);

/// Collective: fills in the device of this rank. Throws Unavailable when `--device cuda` is
/// impossible, UsageError when a host has more ranks than devices.
void choose_device(const Ranks& ranks, TrainingOptions& options);

/// LibTorch's, MPI's and NCCL's versions.
LinkedLibraries training_libraries();

/// Words of the canonical case that are there only when they are not the default.
std::string variant_text(const TrainerOptions& trainer);

/// `contiguous` or `channels_last`.
std::string memory_format(const TrainerOptions& trainer);

/// "cpu" or the card's name.
std::string device_label(const TrainerOptions& trainer);

}  // namespace scalebench
