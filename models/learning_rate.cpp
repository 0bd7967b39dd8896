// SPDX-License-Identifier: Apache-2.0
// The one formula of learning_rate.hpp.
#include "models/learning_rate.hpp"

namespace scalebench {

double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch) {
  const double size = ranks;
  const double full = rule.scaling == RateScaling::linear ? rule.base * size : rule.base;
  const double done = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  if (done >= rule.warmup_epochs) return full;
  const double epoch = static_cast<double>(step + 1) / static_cast<double>(steps_per_epoch);
  return full * (epoch * (size - 1) / rule.warmup_epochs + 1) / size;
}

}  // namespace scalebench
