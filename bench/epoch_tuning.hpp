// SPDX-License-Identifier: Apache-2.0
// Before training with the allreduce `auto`: a short trial of all algorithms over the sizes that a
// model's gradients have.
#pragma once

#include "bench/program.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

/// Collective: gives `gradients` a measured table where `trainer` reduces with `auto`, else returns
/// at once. Throws Unavailable when no algorithm works.
void tune_for_training(const Ranks& ranks, Communicator& gradients, const TrainerOptions& trainer);

}  // namespace scalebench
