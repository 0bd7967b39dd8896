// SPDX-License-Identifier: Apache-2.0
// The two formulas of learning_rate.hpp.
#include "models/learning_rate.hpp"

namespace scalebench {
namespace {

constexpr double kReferenceBatch = 256;
constexpr std::int64_t kResnetWarmup = 5;
constexpr std::int64_t kResnetBoundaries[]{30, 60, 80, 90};

double resnet_rate(const RateRule& rule, std::int64_t step, std::int64_t steps_per_epoch) {
  const double full = rule.base * (static_cast<double>(rule.global_batch) / kReferenceBatch);
  const std::int64_t warmup = kResnetWarmup * steps_per_epoch;
  if (step < warmup) return full * static_cast<double>(step) / static_cast<double>(warmup);
  double divisor = 1;
  for (const std::int64_t epoch : kResnetBoundaries) {
    if (step > epoch * steps_per_epoch) divisor *= 10;
  }
  return full / divisor;
}

}  // namespace

double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch) {
  if (rule.schedule == RateSchedule::resnet) return resnet_rate(rule, step, steps_per_epoch);
  const double size = ranks;
  const double full = rule.scaling == RateScaling::linear ? rule.base * size : rule.base;
  const double done = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  if (done >= rule.warmup_epochs) return full;
  const double epoch = static_cast<double>(step + 1) / static_cast<double>(steps_per_epoch);
  return full * (epoch * (size - 1) / rule.warmup_epochs + 1) / size;
}

}  // namespace scalebench
