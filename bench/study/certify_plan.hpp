// SPDX-License-Identifier: Apache-2.0
// The launches of an A/A comparison: all of one program, in pairs of an A and a B. Which of the two
// comes first is drawn anew for each pair, so that a drift of the machine favours neither.
#pragma once

#include <vector>

#include "bench/study/plan.hpp"

namespace scalebench {

/// `config` holds an [allreduce] alone, on one number of ranks; its launches are those of a side.
/// Their names end with -a or -b, from which study_tables.hpp tells the sides. Throws UsageError as
/// plan_of does.
std::vector<PlannedLaunch> certify_plan(StudyConfig config, const PlanLimits& limits);

}  // namespace scalebench
