// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism over several hosts, as TensorFlow's MultiWorkerMirroredStrategy: one
// allreduce of all gradients after the backward pass, by a ring, NCCL, or whatever was measured to
// be fastest at that size (auto). Cost: as mirrored's; wins where sizes and networks differ so that
// no one algorithm is right. Source: tf.distribute.experimental.CommunicationImplementation.
#include "models/gradients/reducer.hpp"

namespace scalebench::gradient_sync {

std::unique_ptr<GradientSync> multi_worker(const GradientSyncInputs& inputs) {
  return std::make_unique<FusedSync>(inputs);
}

}  // namespace scalebench::gradient_sync
