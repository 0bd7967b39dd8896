// SPDX-License-Identifier: Apache-2.0
// What scalebench compare has found, and how it is told: as a table for the terminal, and as files:
// compare.csv and compare.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/study/comparison/comparison.hpp"
#include "bench/study/comparison/decision.hpp"

namespace scalebench {

struct CompareReport {
  std::vector<ComparedRun> runs;
  std::vector<std::string> command;  // argv as typed
  Comparison comparison;
  std::vector<Cost> costs;
  std::vector<Decision> decisions;  // which type to rent
  bool undecided = false;           // between two of the types that were asked for
  std::vector<std::string> warnings;
  ExitCode code = ExitCode::ok;
};

/// In words: how many cells were the same, faster and so on, and which instance type to rent; the
/// last line is the answer, with its interval.
std::vector<std::string> answers_of(const CompareReport& report);

std::string compare_table(const CompareReport& report);

/// Writes everything into `folder`, which is made and must hold no run or comparison yet; returns
/// where it is.
std::filesystem::path write_comparison(const std::string& folder, const CompareReport& report);

}  // namespace scalebench
