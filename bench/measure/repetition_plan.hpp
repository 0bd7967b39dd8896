// SPDX-License-Identifier: Apache-2.0
// How many: operations to a repetition, repetitions to a decision. From values that all ranks
// share, so that all ranks come to the same.
#pragma once

#include <cstddef>

#include "bench/measure/stop_rule.hpp"

namespace scalebench {

/// Of a repetition: what the clock may take of it, and what it may be wrong by.
constexpr double kClockShare = 0.05;

/// Isolated operations in a row for a pair of clock readings to be a small part of them.
std::size_t operations_to_outlast_clock(double operation_seconds, double clock_pair_seconds);

/// Repetitions until the next decision: a tenth of those `done`, so that deciding on thousands is
/// not done hundreds of times; few where they take long, so that the cap on time is kept.
std::size_t repetitions_to_decision(const StopRule& stop, std::size_t done,
                                    double repetition_seconds);

}  // namespace scalebench
