// SPDX-License-Identifier: Apache-2.0
// When a training began, ended its first step, wrote a checkpoint, was hit by a fault, and when
// that was noticed: a line each, as it happens, in a CSV file that all ranks append to. By each
// host's monotonic clock, which is the same for all processes of a host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program.hpp"
#include "bench/record/csv.hpp"

namespace scalebench {

/// Columns of the file: seconds, host, rank, event, step, note.
const std::vector<std::string>& milestone_columns();

class Milestones {
 public:
  /// Collective. An empty `path`: nothing is written. Throws Error when it cannot be.
  Milestones(const Ranks& ranks, const std::string& path);

  /// By any thread. `step`: steps that the training had done.
  void note(std::string_view event, std::int64_t step, std::string_view text = "");

 private:
  const Ranks& ranks_;
  std::optional<CsvWriter> file_;
};

}  // namespace scalebench
