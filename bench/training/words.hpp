// SPDX-License-Identifier: Apache-2.0
// The command-line options of what bench_epoch may be told of gradient synchronisations, of what
// an epoch reads and by which rules; and as text, for case ids and tables. Each throws UsageError,
// while the command line is parsed, for unknown names and impossible numbers.
#pragma once

#include <string>
#include <string_view>

#include "bench/cli/command_line.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

void add_gradient_sync_options(CLI::App& app, GradientSyncOptions& options);
/// Throws UsageError for an option that was typed and that this gradient sync does not read.
void check_gradient_sync_options(const CLI::App& app, std::string_view gradient_sync,
                                 const GradientSyncOptions& options);
void add_input_options(CLI::App& app, TrainerOptions& options);

/// The options that matter to that gradient sync, canonically. Empty for one that has none.
std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options);

/// What an epoch reads, as far as it differs from the defaults, with a space before each.
std::string text_of_input(const TrainerOptions& options);

}  // namespace scalebench
