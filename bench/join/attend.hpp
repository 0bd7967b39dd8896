// SPDX-License-Identifier: Apache-2.0
// The other processes of a joint start: find the first one, start mpirun's daemons on its word when
// they are their host's agent, and leave with its exit code.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "bench/join/join_plan.hpp"

namespace scalebench {

/// Returns the exit code that the first one says goodbye with. Throws NotTogether when it does not
/// answer within `patience`, refuses, leaves without a goodbye, or when `stop` becomes true. What
/// was started here has ended by then.
int attend(const JoinPlan& plan, const std::string& key, std::chrono::milliseconds patience,
           const std::atomic<bool>& stop);

}  // namespace scalebench
