// SPDX-License-Identifier: Apache-2.0
// The launches of an A/A comparison: all of one program, in pairs of an A and a B. Which of the two
// comes first is drawn anew for each pair, so that a drift of the machine favours neither.
#pragma once

#include <vector>

#include "bench/study/collect.hpp"
#include "bench/study/plan.hpp"

namespace scalebench {

struct CertifyPlan {
  std::vector<PlannedLaunch> launches;
  std::vector<bool> is_b;  // for each of them
};

/// `config` holds an [allreduce] alone, on one number of ranks; its launches are those of a side.
/// Throws UsageError as plan_of does.
CertifyPlan certify_plan(StudyConfig config, const PlanLimits& limits);

/// Of what the launches wrote, one side's.
std::vector<LaunchRows> rows_of_side(const std::vector<LaunchRows>& rows, const CertifyPlan& plan,
                                     bool is_b);

}  // namespace scalebench
