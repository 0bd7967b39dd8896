// SPDX-License-Identifier: Apache-2.0
// Epochs as logs tell them: what was learnt in them, what else follows from a known data set,
// and whether a time can be that of an epoch at all. A step that is taken for an epoch is some
// thousand times too fast, and looks like a result.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/imported_case.hpp"

namespace scalebench {

/// What was learnt in each epoch that has a time; and of the case what it came to, and when its
/// target was reached.
void add_accuracies(ImportedCase& one, const std::vector<LoggedEpoch>& epochs);

/// What follows from the other cells of a row of epoch.csv or throughput.csv: images of a known
/// data set; the batch of one rank from that of all, and back; one_device for one rank.
void complete_training(ResultRow& row);

/// Whether the states that a log tells are those of an epoch: computing, the reduction that nothing
/// hides (transfer), and input and evaluation, which are none where it does not tell them. Takes
/// them out where they cannot be, and returns why; else nothing.
std::string check_states(ImportedCase& one);

/// How many images a second one rank could train at the very most.
double fastest_images_per_s(const ResultRow& row);

/// Throws UsageError, naming `file`, for a case of epoch.csv whose ranks would be faster than that.
void require_possible(const ImportedCase& one, const std::string& file);

/// The epochs that a log names ("Epoch: [3]", "Epoch 3/12", "epoch=3"), line by line.
class NamedEpochs {
 public:
  NamedEpochs();
  ~NamedEpochs();

  /// Takes note of the epoch that a line names, if any.
  void read(std::string_view line);
  /// The last one that was named.
  const std::optional<std::string>& current() const { return current_; }
  std::size_t count() const { return seen_.size(); }

 private:
  LinePattern pattern_;
  std::set<std::string> seen_;
  std::optional<std::string> current_;
};

}  // namespace scalebench
