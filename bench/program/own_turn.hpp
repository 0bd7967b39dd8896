// SPDX-License-Identifier: Apache-2.0
// What a rank does between two pieces of its work, where a study measures two builds in turns
// (bench/launch/turns.hpp): it sleeps until it is its launch's turn.
#pragma once

#include <string>

#include "bench/program/program.hpp"

namespace scalebench {

/// Before each piece that is timed and that another build may come before: an epoch, a part
/// of a case, a round of steps. Called by all ranks alike. Returns the seconds that it has waited;
/// at once, and 0, where nobody takes turns, or no longer does.
double wait_for_turn(const Ranks& ranks);

/// Whether turns are taken: what is timed is then to be cut into several pieces.
bool takes_turns();

/// As wait_for_turn, and tells the watchdog of the cell that begins then.
double begin_in_turn(const Ranks& ranks, const std::string& cell, double operation_seconds);

}  // namespace scalebench
