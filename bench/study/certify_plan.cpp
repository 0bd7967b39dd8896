// SPDX-License-Identifier: Apache-2.0
#include "bench/study/certify_plan.hpp"

#include <random>

namespace scalebench {

std::vector<PlannedLaunch> certify_plan(StudyConfig config, const PlanLimits& limits) {
  config.launches *= 2;
  std::vector<PlannedLaunch> plan = plan_of(config, limits);
  std::mt19937_64 random(config.seed);
  bool is_b = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    // The second of a pair is what the first is not.
    is_b = i % 2 == 0 ? random() % 2 == 1 : !is_b;
    plan[i].name += is_b ? "-b" : "-a";
  }
  return plan;
}

}  // namespace scalebench
