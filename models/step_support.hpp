// SPDX-License-Identifier: Apache-2.0
// Which ways to compute a step a device and this LibTorch have, asked before anything is trained.
#pragma once

#include <string>

#include "models/trainer_options.hpp"

namespace scalebench {

/// What matters of a device here.
struct StepDevice {
  bool cuda = false;
  bool tf32 = false;
};

/// Why no device of that kind computes steps so, whatever the LibTorch; empty: one can.
std::string why_no_step(Precision precision, bool step_graph, const StepDevice& device);

/// The same for the device of `options` and this LibTorch, which tries the precision. Selects the
/// device.
std::string why_no_step(const TrainerOptions& options);

}  // namespace scalebench
