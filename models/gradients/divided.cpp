// SPDX-License-Identifier: Apache-2.0
// Optimizers name a tensor "velocity.3": what it is, and of which parameter. A name without a
// number is a counter, the same on all owners.
#include "models/gradients/divided.hpp"

#include <algorithm>

#include "kernels/error.hpp"
#include "models/gradients/wire.hpp"
#include "models/step/optimizer.hpp"

namespace scalebench {
namespace {

bool is_counter(const std::string& name) { return name.find('.') == std::string::npos; }

std::string name_of(const std::string& like, std::size_t number) {
  return fmt::format("{}.{}", like.substr(0, like.find('.')), number);
}

const torch::Tensor& named(const NamedTensors& state, const std::string& name) {
  const auto found = std::ranges::find(state, name, &NamedTensors::value_type::first);
  if (found == state.end()) {
    fail<UsageError>("optimizer state without '{}': not one of this optimizer", name);
  }
  return found->second;
}

torch::Tensor part(const torch::Tensor& whole, const StatePiece& piece) {
  if (piece.first + piece.count > whole.numel()) {
    fail<UsageError>("optimizer state of {} numbers, expected at least {}", whole.numel(),
                     piece.first + piece.count);
  }
  if (piece.count == whole.numel()) return whole;  // of any strides
  return whole.view(-1).narrow(0, piece.first, piece.count);
}

/// What is remembered of each parameter, from the names of the whole: each "x.0" once.
std::vector<std::string> kinds(const NamedTensors& whole) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : whole) {
    if (is_counter(name) || name.ends_with(".0")) names.push_back(name);
  }
  return names;
}

/// From `owner`, who has `mine`, into `into` on rank 0.
void bring(StagedExchange& ranks, int owner, const NamedTensors& mine, const std::string& name,
           const torch::Tensor& into) {
  const int rank = ranks.communicator().rank();
  if (rank == owner && owner == 0) {
    torch::Tensor(into).copy_(named(mine, name).reshape(into.sizes()));
  } else if (rank == owner) {
    const torch::Tensor sent = named(mine, name).contiguous();
    ranks.send(span_of_tensor(sent), 0);
  } else if (rank == 0) {
    const torch::Tensor received = torch::empty_like(into, torch::MemoryFormat::Contiguous);
    ranks.receive(span_of_tensor(received), owner);
    torch::Tensor(into).copy_(received);
  }
}

}  // namespace

NamedTensors gather_state(StagedExchange& ranks, const NamedTensors& mine,
                          const NamedTensors& whole, const std::vector<StatePiece>& pieces) {
  const torch::NoGradGuard no_grad;
  const bool first = ranks.communicator().rank() == 0;
  for (const std::string& kind : kinds(whole)) {
    if (is_counter(kind)) {
      bring(ranks, pieces.front().owner, mine, kind, first ? named(whole, kind) : torch::Tensor());
      continue;
    }
    for (const StatePiece& piece : pieces) {
      const torch::Tensor into =
          first ? part(named(whole, name_of(kind, piece.whole)), piece) : torch::Tensor();
      bring(ranks, piece.owner, mine, name_of(kind, piece.local), into);
    }
  }
  return first ? whole : mine;
}

NamedTensors pieces_of_state(const NamedTensors& whole, const NamedTensors& mine,
                             const std::vector<StatePiece>& pieces, int rank) {
  NamedTensors state;
  for (const auto& [name, tensor] : mine) {
    if (is_counter(name)) {
      state.emplace_back(name, named(whole, name));
      continue;
    }
    for (const StatePiece& piece : pieces) {
      if (piece.owner != rank || name_of(name, piece.local) != name) continue;
      const torch::Tensor from = named(whole, name_of(name, piece.whole));
      state.emplace_back(name, part(from, piece).reshape(tensor.sizes()));
    }
  }
  return state;
}

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
