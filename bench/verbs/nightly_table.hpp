// SPDX-License-Identifier: Apache-2.0
// A night for a terminal: the verdict, then the cells that need a look.
#pragma once

#include <string>

#include "bench/study/gate.hpp"
#include "bench/study/night_verdict.hpp"

namespace scalebench {

std::string nightly_table(const GateReport& report, const NightVerdict& verdict);

}  // namespace scalebench
