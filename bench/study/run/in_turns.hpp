// SPDX-License-Identifier: Apache-2.0
// Two runs of one plan, measured in turns: two builds of which the same is asked.
#pragma once

#include <atomic>
#include <string>

#include "bench/study/run/run.hpp"

namespace scalebench {

/// A word that no other pair of runs has.
std::string new_pair();

/// Two builds' runs of one plan, launch by launch in turns. On the CPUs of one host both launches
/// are there at once, and take turns of an epoch, a case or a round of steps (Turns): what the host
/// is like in a second is in both. Elsewhere, and where a build's programs know no turns, one
/// launch ends before the other starts. Which of the two begins changes from round to round, so
/// that a drift favours neither.
void measure_in_turns(StudyRun& a, StudyRun& b, const std::atomic<bool>& stop);

}  // namespace scalebench
