// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step: a base rate, its growth with the number of ranks, and a warm-up.
// The warm-up is Horovod's (horovod/_keras/callbacks.py, after Goyal et al. 2017): from the rate
// of one rank to that of all, linearly over the first epochs. Its momentum correction is left out.
#pragma once

#include <cstdint>

namespace scalebench {

enum class RateScaling : std::uint8_t { none, linear };

struct RateRule {
  double base = 1e-3;
  /// linear: the base rate times the number of ranks (Horovod, SMDDP, Goyal et al.).
  RateScaling scaling = RateScaling::none;
  /// Epochs of warm-up; 0: none.
  double warmup_epochs = 0;
};

/// The rate of step `step` (counted from 0 over all epochs) with `ranks` ranks. During the warm-up
/// the full rate is multiplied by 1/ranks * (epoch * (ranks - 1) / warmup_epochs + 1), where
/// epoch = (step + 1) / steps_per_epoch: Horovod adds the one step so that epochs end on round
/// numbers.
double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch);

}  // namespace scalebench
