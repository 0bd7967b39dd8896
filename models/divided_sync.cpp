// SPDX-License-Identifier: Apache-2.0
#include "models/divided_sync.hpp"

#include "kernels/error.hpp"
#include "models/paced_optimizer.hpp"

namespace scalebench {

DividedSync::DividedSync(const GradientSyncInputs& inputs)
    : optimizer_name_(inputs.optimizer),
      update_pace_(inputs.update_pace),
      trace_(inputs.trace),
      replica_(inputs.parameters, inputs.communicator),
      exchange_(inputs.communicator) {}

void DividedSync::divide(std::vector<StatePiece> pieces, const torch::Tensor& parameters,
                         const torch::Tensor& gradients) {
  pieces_ = std::move(pieces);
  std::vector<torch::Tensor> mine;
  for (const StatePiece& piece : pieces_) {
    if (piece.owner != communicator().rank()) continue;
    mine.push_back(parameters.narrow(0, piece.first, piece.count));
    mine.back().mutable_grad() = gradients.narrow(0, piece.first, piece.count);
  }
  if (!mine.empty()) optimizer_ = make_paced_optimizer(optimizer_name_, mine, update_pace_);
}

NamedTensors DividedSync::optimizer_state() {
  // Of one that has everything: its names say what there is, and its tensors take it up.
  const NamedTensors whole = make_optimizer(optimizer_name_, {replica_.flat_parameters()})->state();
  return gather_state(exchange_, optimizer_ ? optimizer_->state() : NamedTensors{}, whole, pieces_);
}

void DividedSync::restore_optimizer(const NamedTensors& state) {
  if (!optimizer_) return;
  optimizer_->restore(pieces_of_state(state, optimizer_->state(), pieces_, communicator().rank()));
}

void require_full_width(std::string_view name, const GradientSyncOptions& options) {
  if (options.wire == DType::float32) return;
  fail<UsageError>(
      "gradient sync {} sends float32 only; compression is for mirrored, balanced_shards and "
      "other strategies that reduce gradients in buffers of their own",
      name);
}

}  // namespace scalebench
