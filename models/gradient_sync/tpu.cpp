// SPDX-License-Identifier: Apache-2.0
// TensorFlow's TPUStrategy by name, so that who looks for it learns why it is not here.
#include "models/gradients/gradient_sync.hpp"

namespace scalebench::gradient_sync {

std::unique_ptr<GradientSync> tpu(const GradientSyncInputs& inputs) {
  worker_count("tpu", inputs.options, inputs.communicator.size());  // throws
  return nullptr;
}

}  // namespace scalebench::gradient_sync
