// SPDX-License-Identifier: Apache-2.0
// The command-line options of gradient synchronisations, as words and as what they mean.
#pragma once

#include <string>

#include "bench/cli/app.hpp"
#include "models/gradient_sync_options.hpp"

namespace scalebench {

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

}  // namespace scalebench
