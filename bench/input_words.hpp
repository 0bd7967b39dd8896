// SPDX-License-Identifier: Apache-2.0
// The command-line options of what an epoch reads and of its rules, as words and as what they mean.
#pragma once

#include <string>

#include "bench/cli/app.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

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
