// SPDX-License-Identifier: Apache-2.0
// Which launches of a round are of one case: two [[epoch]] may have bases in common, and one may
// spell out what the other leaves to its default.
#pragma once

#include <vector>

#include "bench/launch/launcher.hpp"

namespace scalebench {

/// Of those of one case the first. `on_cpus`: they are known to have no GPU. Throws UsageError for
/// two whose rows would be of one case, though they train and evaluate otherwise.
std::vector<PlannedLaunch> each_once(const std::vector<PlannedLaunch>& round, bool on_cpus);

}  // namespace scalebench
