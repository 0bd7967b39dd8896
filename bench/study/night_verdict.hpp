// SPDX-License-Identifier: Apache-2.0
// The whole night in one word, one sentence and one exit code. A night in which nothing was
// measured, or whose gate could not see, is never a pass.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/study/gate.hpp"

namespace scalebench {

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

}  // namespace scalebench
