// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step: a base rate, its growth with the number of ranks, and a warm-up; or
// the schedule with which ResNets are trained on ImageNet.
// The warm-up is Horovod's (horovod/_keras/callbacks.py, after Goyal et al. 2017): from the rate
// of one rank to that of all, linearly over the first epochs. Its momentum correction is left out.
#pragma once

#include <cstdint>

namespace scalebench {

enum class RateScaling : std::uint8_t { none, linear };

enum class RateSchedule : std::uint8_t {
  constant,  // after the warm-up
  resnet,    // base * batch / 256, 5 epochs of warm-up from 0, a tenth of it after 30, 60, 80, 90
};

struct RateRule {
  double base = 1e-3;
  /// linear: the base rate times the number of ranks (Horovod, SMDDP, Goyal et al.).
  RateScaling scaling = RateScaling::none;
  /// Epochs of warm-up; 0: none.
  double warmup_epochs = 0;
  /// resnet takes no notice of `scaling` and `warmup_epochs`, which it has of its own.
  RateSchedule schedule = RateSchedule::constant;
  /// Images of all ranks together in a step; only for resnet.
  std::int64_t global_batch = 256;
};

/// The rate of step `step` (counted from 0 over all epochs) with `ranks` ranks. During the warm-up
/// the full rate is multiplied by 1/ranks * (epoch * (ranks - 1) / warmup_epochs + 1), where
/// epoch = (step + 1) / steps_per_epoch: Horovod adds the one step so that epochs end on round
/// numbers. The schedule resnet is tf_cnn_benchmarks' (models/resnet_model.py, get_learning_rate):
/// step 0 has rate 0, and a boundary's own step still has the higher rate.
double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch);

}  // namespace scalebench
