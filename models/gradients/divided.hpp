// SPDX-License-Identifier: Apache-2.0
// Optimizer state that lies in pieces on several ranks, and the whole of it, which does not depend
// on how it was cut: a checkpoint of N ranks is one of any number.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/scatter_gather.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/replica.hpp"
#include "models/step/optimizer.hpp"

namespace scalebench {

/// Elements [first, first + count) of tensor `whole` among those of an optimizer over everything
/// are tensor `local` of the optimizer of rank `owner`.
struct StatePiece {
  int owner;
  std::size_t local;
  std::size_t whole;
  std::int64_t first;
  std::int64_t count;
};

/// Collective, with the same pieces on all ranks. `mine`: state of this rank's optimizer over its
/// pieces, empty without any; `whole`: state of one over everything, on rank 0, which is filled in
/// and returned there; elsewhere `mine` is.
NamedTensors gather_state(StagedExchange& ranks, const NamedTensors& mine,
                          const NamedTensors& whole, const std::vector<StatePiece>& pieces);

/// What the optimizer of `rank` over its pieces remembers of `whole`, in the form of `mine`.
/// Throws UsageError when `whole` is not such a state.
NamedTensors pieces_of_state(const NamedTensors& whole, const NamedTensors& mine,
                             const std::vector<StatePiece>& pieces, int rank);

// What strategies share that compute on whole replicas but divide the update: flat parameters and
// gradients on every rank, and an optimizer over the pieces of them that this rank owns.

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
