// SPDX-License-Identifier: Apache-2.0
// The update rules of update.hpp on a device: all parameters of a model in one launch, or a few,
// and every number that changes from step to step read there, so that a recorded step can be
// replayed. Throws Unavailable in a build without CUDA.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/device.hpp"
#include "kernels/update.hpp"

namespace scalebench {

/// One tensor; device memory, `count` floats each. `state`: velocities (sgd), or means and squares
/// (adam).
struct UpdatePart {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* state[2] = {};  // no std::array, whose operators are the host's
  std::size_t count = 0;
};

/// What adam remembers of its steps, in device memory; all zero before the first.
struct AdamProgress {
  double steps = 0;
  float step_size = 0;
  float bias2_root = 0;
};

/// As sgd_update of each part, bit for bit. `rate`: one double in device memory. Asynchronous.
void sgd_update(std::span<const UpdatePart> parts, float momentum, const double* rate,
                DeviceStream stream);

/// As adam_update of each part, of the step after `progress`, which it counts on. Of `decay` only
/// the betas and epsilon are looked at. Asynchronous.
void adam_update(std::span<const UpdatePart> parts, const AdamStep& decay, const double* rate,
                 AdamProgress* progress, DeviceStream stream);

}  // namespace scalebench
