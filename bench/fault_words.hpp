// SPDX-License-Identifier: Apache-2.0
// The command-line options of injected faults, as words and as what they mean.
#pragma once

#include <string>

#include "bench/cli/app.hpp"
#include "models/faults.hpp"

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

}  // namespace scalebench
