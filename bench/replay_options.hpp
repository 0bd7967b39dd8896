// SPDX-License-Identifier: Apache-2.0
// The options of recording steps, and what those of others mean where recorded steps are replayed.
#pragma once

#include "bench/cli/app.hpp"
#include "bench/epoch_options.hpp"

namespace scalebench {

void add_replay_options(CLI::App& app, EpochOptions& options);

/// For a model that is replayed: its images, no evaluation, rows that say emulated. Throws
/// UsageError for options that a step without computation cannot have.
void apply_replay_options(const CLI::App& app, EpochOptions& options);

/// Throws UsageError unless each worker's batch is the recorded one. `trainer`: as resolved.
void check_replay(const EpochOptions& options, const TrainerOptions& trainer);

}  // namespace scalebench
