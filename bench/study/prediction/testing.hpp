// SPDX-License-Identifier: Apache-2.0
// For tests: a world whose truth is known. Its allreduce is a ring, of which a step and a byte cost
// always the same, and its step is that of three layers.
#pragma once

#include "bench/study/prediction/step.hpp"

namespace scalebench::known_world {

inline constexpr double kAlpha = 100e-6, kBeta = 8e-9;

inline double allreduce_seconds(double bytes, const RankLayout& at) {
  const double p = at.ranks;
  return kAlpha * 2 * (p - 1) + kBeta * 2 * bytes * (p - 1) / p;
}

inline StepProfile profile() {
  StepProfile made;
  made.batch = 12;
  made.layers = {
      {"", 0.010, 0.050, {25'000}}, {"", 0.020, 0.030, {1'000'000}}, {"", 0.030, 0.020, {300'000}}};
  made.load_seconds = 0.003;
  made.update_seconds = 0.008;
  made.host_seconds = 0.001;
  made.step_seconds = {0.172, 0.172};
  return made;
}

}  // namespace scalebench::known_world
