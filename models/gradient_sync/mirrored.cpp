// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism without overlap: after the backward pass one allreduce of all
// gradients to their mean. As TensorFlow's MirroredStrategy with fused gradients. Cost: the whole
// allreduce of 4 bytes a parameter is exposed; wins where a model is small or the step is short.
#include "models/gradient_reducer.hpp"
#include "models/replica_sync.hpp"

namespace scalebench {
namespace {

class Mirrored : public ReplicaSync {
 public:
  explicit Mirrored(const GradientSyncInputs& inputs)
      : ReplicaSync(inputs), reducer_(inputs, replica().gradients()) {}

  void synchronise() override {
    replica().finish_step();
    average_now(reducer_, replica().gradients(), trace());
  }

 private:
  GradientReducer reducer_;
};

}  // namespace

std::unique_ptr<GradientSync> gradient_sync::mirrored(const GradientSyncInputs& inputs) {
  return std::make_unique<Mirrored>(inputs);
}

}  // namespace scalebench
