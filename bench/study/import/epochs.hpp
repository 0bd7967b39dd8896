// SPDX-License-Identifier: Apache-2.0
// Epochs as logs tell them: when a target was reached, what else follows from a known data set,
// and whether a time can be that of an epoch at all. A step that is taken for an epoch is some
// thousand times too fast, and looks like a result.
#pragma once

#include <string>
#include <vector>

#include "bench/study/import/imported_case.hpp"

namespace scalebench {

/// `accuracies`: of the epochs in their order. The case takes them where each of its times has one,
/// and when its target was reached.
void add_accuracies(ImportedCase& one, const std::vector<double>& accuracies);

/// What follows from the other cells of a row of epoch.csv: images of a known data set; the batch
/// of one rank from that of all, and back; one_device for one rank. Other rows stay as they are.
void complete_training(ResultRow& row);

/// Throws UsageError, naming `file`, for a case of epoch.csv whose ranks would train more images a
/// second than any device can.
void require_possible(const ImportedCase& one, const std::string& file);

/// Whether the states that a log tells are those of an epoch: computing, the reduction that nothing
/// hides (transfer), and input and evaluation, which are none where it does not tell them. Takes
/// them out where they cannot be, and returns why; else nothing.
std::string check_states(ImportedCase& one);

}  // namespace scalebench
