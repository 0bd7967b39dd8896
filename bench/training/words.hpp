// SPDX-License-Identifier: Apache-2.0
// The command-line options of injected faults, as words and as what they mean.
#pragma once

#include <string>

#include "bench/cli/command_line.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct FaultWords {
  std::string sleep_rank;  // RANK:SECONDS; empty: none
};

/// Adds the options to `app`; those that need translation are bound to `words`.
void add_fault_options(CLI::App& app, FaultWords& words, Faults& faults);

/// Throws UsageError for what is no fault on `ranks` ranks.
void apply(const FaultWords& words, int ranks, Faults& faults);

/// The faults, canonically: for case ids and notes. Empty without any.
std::string text_of(const Faults& faults);

// The command-line options of gradient synchronisations, as words and as what they mean.

struct GradientSyncWords {
  double bucket_mb = 25;
  std::string progress = "thread";
  std::string compression = "none";
  double fusion_mb = 128;
  double cycle_ms = 1;
};

/// Adds the options to `app`; those that need translation are bound to `words`.
void add_gradient_sync_options(CLI::App& app, GradientSyncWords& words,
                               GradientSyncOptions& options);

/// Throws UsageError for unknown names and impossible numbers.
void apply(const GradientSyncWords& words, GradientSyncOptions& options);

/// The options that matter to that gradient sync, canonically: for case ids and tables. Empty for
/// one that has none.
std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options);

// The command-line options of what an epoch reads and of its rules, as words and as what they mean.

struct InputWords {
  std::string bad_images = "stop";
  std::string page_cache = "as_is";
  std::string epoch_rule = "true";
  std::string rate_schedule = "constant";
};

/// Adds the options to `app`; those that need translation are bound to `words`.
void add_input_options(CLI::App& app, InputWords& words, TrainerOptions& options);

/// Throws UsageError for unknown names.
void apply(const InputWords& words, TrainerOptions& options);

/// Those that differ from their defaults, canonically with a space before each: for case ids.
std::string text_of_input(const TrainerOptions& options);

/// The column page_cache: "cold (2 % resident)"; `resident`: that share, NaN where it is unknown.
std::string page_cache_text(PageCache asked, double resident);

}  // namespace scalebench
