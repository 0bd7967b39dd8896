// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism without overlap: after the backward pass one allreduce of all
// gradients to their mean. As TensorFlow's MirroredStrategy with fused gradients, whose
// CrossDeviceOps are names of --allreduce. Cost: the whole allreduce of 4 bytes a parameter is
// exposed; wins where a model is small or the step is short.
#include "models/gradients/reducer.hpp"

namespace scalebench::gradient_sync {

std::unique_ptr<GradientSync> mirrored(const GradientSyncInputs& inputs) {
  return std::make_unique<FusedSync>(inputs);
}

}  // namespace scalebench::gradient_sync
