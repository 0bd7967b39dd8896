// SPDX-License-Identifier: Apache-2.0
#include "bench/study/certify_plan.hpp"

#include <random>

namespace scalebench {

CertifyPlan certify_plan(StudyConfig config, const PlanLimits& limits) {
  config.launches *= 2;
  CertifyPlan plan{plan_of(config, limits), {}};
  std::mt19937_64 random(config.seed);
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    // The second of a pair is what the first is not.
    const bool is_b = i % 2 == 0 ? random() % 2 == 1 : !plan.is_b.back();
    plan.is_b.push_back(is_b);
    plan.launches[i].name += is_b ? "-b" : "-a";
  }
  return plan;
}

std::vector<LaunchRows> rows_of_side(const std::vector<LaunchRows>& rows, const CertifyPlan& plan,
                                     bool is_b) {
  std::vector<LaunchRows> side;
  for (const LaunchRows& launch : rows) {
    if (plan.is_b.at(static_cast<std::size_t>(launch.launch) - 1) == is_b) side.push_back(launch);
  }
  return side;
}

}  // namespace scalebench
