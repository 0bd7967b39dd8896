// SPDX-License-Identifier: Apache-2.0
#include "models/replica_sync.hpp"

#include "models/paced_optimizer.hpp"

namespace scalebench {

ReplicaSync::ReplicaSync(const GradientSyncInputs& inputs)
    : communicator_(inputs.communicator),
      trace_(inputs.trace),
      replica_(inputs.parameters, inputs.communicator),
      optimizer_(make_paced_optimizer(inputs.optimizer, {replica_.flat_parameters()},
                                      inputs.update_pace)) {}

Workers ReplicaSync::workers() const { return {communicator_.size(), communicator_.rank()}; }

bool ReplicaSync::update(double learning_rate, double gradient_scale) {
  if (!unscale(replica_.flat_gradients(), gradient_scale)) return false;
  optimizer_->step(learning_rate);
  return true;
}

bool unscale(const at::Tensor& gradients, double gradient_scale) {
  if (gradient_scale == 1) return true;
  const torch::NoGradGuard no_grad;
  const torch::Tensor sum = gradients.sum();  // one pass; infinities that cancel give no number
  if (!std::isfinite(sum.item<float>())) return false;
  torch::Tensor values = gradients;
  values.mul_(1 / gradient_scale);
  return true;
}

}  // namespace scalebench
