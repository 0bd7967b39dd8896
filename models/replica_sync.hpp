// SPDX-License-Identifier: Apache-2.0
// What strategies share that keep a whole replica on every rank and update it there: flat
// parameters and gradients, and an optimizer over them.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>

#include "models/flat_replica.hpp"
#include "models/gradient_sync.hpp"
#include "models/optimizer.hpp"

namespace scalebench {

class ReplicaSync : public GradientSync {
 public:
  /// Collective.
  explicit ReplicaSync(const GradientSyncInputs& inputs);

  Workers workers() const override;
  void begin_step() override { replica_.begin_step(); }
  void before_last_backward() override { replica_.before_last_backward(); }
  bool update(double learning_rate, double gradient_scale) override;
  bool set_rate(double learning_rate) override { return optimizer_->set_rate(learning_rate); }
  NamedTensors optimizer_state() override { return optimizer_->state(); }
  void restore_optimizer(const NamedTensors& state) override { optimizer_->restore(state); }

 protected:
  FlatReplica& replica() { return replica_; }
  Communicator& communicator() const { return communicator_; }
  StepTrace& trace() const { return trace_; }

 private:
  Communicator& communicator_;
  StepTrace& trace_;
  FlatReplica replica_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// Gradients of scaled losses become those of the losses; false when one is infinite or not a
/// number. The scale 1 is not looked at: the losses themselves are.
bool unscale(const at::Tensor& gradients, double gradient_scale);

}  // namespace scalebench
