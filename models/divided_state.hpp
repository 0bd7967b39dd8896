// SPDX-License-Identifier: Apache-2.0
// Optimizer state that lies in pieces on several ranks, and the whole of it, which does not depend
// on how it was cut: a checkpoint of N ranks is one of any number.
#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "collectives/staged_exchange.hpp"
#include "models/gradient_sync.hpp"

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

}  // namespace scalebench
