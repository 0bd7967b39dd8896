// SPDX-License-Identifier: Apache-2.0
// For tests of plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/launch/launcher.hpp"
#include "bench/study/plan/config.hpp"

namespace scalebench {

inline EpochStudy mlp(std::int64_t batch = 64) {
  EpochStudy study;
  study.model = "mlp";
  study.global_batch = batch;
  return study;
}

/// `round`: of that alone.
inline std::vector<std::string> names_of(const std::vector<PlannedLaunch>& plan, int round = -1) {
  std::vector<std::string> names;
  for (const PlannedLaunch& launch : plan) {
    if (round < 0 || launch.round == round) names.push_back(launch.name);
  }
  return names;
}

}  // namespace scalebench
