// SPDX-License-Identifier: Apache-2.0
// What strategies share that compute on whole replicas but divide the update: flat parameters and
// gradients on every rank, and an optimizer over the pieces of them that this rank owns.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "collectives/staged_exchange.hpp"
#include "models/divided_state.hpp"
#include "models/flat_replica.hpp"
#include "models/gradient_sync.hpp"
#include "models/optimizer.hpp"

namespace scalebench {

class DividedSync : public GradientSync {
 public:
  /// Collective.
  explicit DividedSync(const GradientSyncInputs& inputs);

  Workers workers() const override { return {communicator().size(), communicator().rank()}; }
  void begin_step() override { replica_.begin_step(); }
  void before_last_backward() override { replica_.before_last_backward(); }
  NamedTensors optimizer_state() override;
  void restore_optimizer(const NamedTensors& state) override;

 protected:
  /// `pieces` of the flat buffers, of all ranks alike, none empty. The optimizer works on
  /// `parameters` and `gradients`, which are laid out as the replica's.
  void divide(std::vector<StatePiece> pieces, const torch::Tensor& parameters,
              const torch::Tensor& gradients);

  FlatReplica& replica() { return replica_; }
  Communicator& communicator() const { return exchange_.communicator(); }
  StagedExchange& ranks() { return exchange_; }
  StepTrace& trace() const { return trace_; }
  /// Null on a rank that owns nothing.
  Optimizer* optimizer() const { return optimizer_.get(); }

 private:
  std::string optimizer_name_;
  UpdatePace update_pace_;
  StepTrace& trace_;
  FlatReplica replica_;
  StagedExchange exchange_;
  std::vector<StatePiece> pieces_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// Throws UsageError when gradients are to travel compressed, which `name` does not do.
void require_full_width(std::string_view name, const GradientSyncOptions& options);

}  // namespace scalebench
