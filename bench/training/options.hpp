// SPDX-License-Identifier: Apache-2.0
// The words for how a training step computes: in which precision, in which memory format, launched
// one by one or as a graph. bench_epoch takes one of each, bench_throughput lists of them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/hosts/hosts.hpp"
#include "bench/program/devices.hpp"
#include "bench/program/recorder.hpp"
#include "collectives/control.hpp"
#include "models/torch/device.hpp"
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
  StepKind step = StepKind::eager;
};

void apply(const StepVariant& variant, TrainerOptions& trainer);

// The options that bench_throughput and bench_epoch share: what is trained, on what, how.

struct TrainingOptions {
  TrainerOptions trainer;
  DeviceOptions devices;
  RankDevices placed;  // of choose_device
  StepWords step;
  std::vector<StepVariant> variants;  // what `step` means; the trainer has the first
  std::string format = "table";
  bool quiet = false;
  bool monitor = false;
  HostOptions hosts;
  RecordOptions record;
  std::vector<std::string> command;  // argv as typed
};

/// Adds the options to `app`, bound to `options`.
void add_training_options(CLI::App& app, TrainingOptions& options);

/// Fills in what the words mean, and the model. Throws UsageError for unknown names among them.
void apply_training_options(TrainingOptions& options);

/// Says what a program that no study started took from the managed job around it.
void note_job(const TrainingOptions& options, std::string_view checkpoints, Console& console);

/// Collective: fills in the device of this rank, and that rows are emulated where it is shared.
/// Throws UsageError when devices were asked for and cannot be had, and when there are some that
/// LibTorch can use, but fewer than ranks.
void choose_device(const Ranks& ranks, TrainingOptions& options);

/// LibTorch's, MPI's and NCCL's versions.
LinkedLibraries training_libraries();

/// Words of the canonical case that are there only when they are not the default.
std::string variant_text(const TrainerOptions& trainer);

/// `contiguous` or `channels_last`.
std::string memory_format(const TrainerOptions& trainer);

/// "cpu" or the card's name.
std::string device_label(const TrainerOptions& trainer);

// What went wrong on one rank, known to all of them.

/// Runs `work`. Returns why memory was not enough, naming the rank; empty: it was.
template <class Work>
std::string lack_of_memory(const Ranks& ranks, Work work) {
  try {
    work();
    return {};
  } catch (const OutOfMemory& error) {
    return fmt::format("rank {} {}: {}", ranks.session.rank(), ranks.session.host(), error.what());
  }
}

/// Collective: the failure of the first rank that has one, empty where none has.
inline std::string joint_failure(Communicator& host, const std::string& mine) {
  for (const std::string& one : all_gather(host, mine)) {
    if (!one.empty()) return one;
  }
  return {};
}

}  // namespace scalebench
