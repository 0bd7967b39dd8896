// SPDX-License-Identifier: Apache-2.0
// The gate's findings as rows of gate.csv and history.csv.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/nightly/gate.hpp"

namespace scalebench {

/// One row a cell and metric; worst verdicts first, then in the order of the cells.
std::vector<ResultRow> gate_rows(const GateReport& report);

/// One row a cell, metric and night, of the last nights, oldest first; empty values where a cell
/// was not measured.
std::vector<ResultRow> history_rows(const GateReport& report);

// The whole night in one word, one sentence and one exit code. A night in which nothing was
// measured, or whose gate could not see, is never a pass.

/// What makes the exit code of a night other than 0, of: regression incomplete ambiguous.
struct FailOn {
  std::set<std::string, std::less<>> states{"regression", "incomplete"};
};

struct NightVerdict {
  std::string
      word;  // PASS, REGRESSED, HOST SHIFT, INCOMPLETE, NOTHING MEASURED, INSUFFICIENT, BLIND
  std::string summary;
  std::vector<std::string> states;  // all that hold: regression, incomplete, ambiguous, blind, ...
  int exit_code = 0;
};

/// `failed_launches`: starts of programs tonight that ended otherwise than well. `partial`: the
/// sweep was not measured to its end.
NightVerdict verdict_of(const GateReport& report, std::size_t failed_launches, bool partial,
                        const FailOn& fail_on);

// A night for a terminal: the verdict, then the cells that need a look.

std::string nightly_table(const GateReport& report, const NightVerdict& verdict);

}  // namespace scalebench
