// SPDX-License-Identifier: Apache-2.0
#include "collectives/scatter_gather.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "collectives/chunk.hpp"
#include "collectives/staged_exchange.hpp"

namespace scalebench {

std::vector<int> all_ranks(const Communicator& communicator) {
  std::vector<int> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

ScatterGather::ScatterGather(Communicator& communicator, std::vector<int> members, int index,
                             int chunks, Span example)
    : communicator_(communicator),
      members_(std::move(members)),
      ring_(ring_of(members_, index, chunks)) {
  const bool reached = std::ranges::all_of(
      members_, [&](int rank) { return communicator_.peer(example, rank).has_value(); });
  // The direct way has barriers of all ranks, so a group of one must not decide by itself.
  direct_ = StagedExchange(communicator_).all_agree(reached);
}

Span ScatterGather::own(Span data) const {
  return ring_.index < ring_.chunks ? chunk_of(data, ring_.index, ring_.chunks)
                                    : data.part(data.count, 0);
}

void ScatterGather::reduce_scatter(Span data, ReduceOp op) {
  if (!direct_) return ring_reduce_scatter(communicator_, ring_, data, data, op);
  communicator_.barrier();
  const Span mine = own(data);
  if (mine.empty()) return;
  sources_.clear();
  for (const int rank : members_) sources_.push_back(*communicator_.peer(mine, rank));
  communicator_.combine(sources_, std::span(&mine, 1), op);
}

void ScatterGather::all_gather(Span data) {
  if (!direct_) return ring_allgather(communicator_, ring_, data);
  const Span mine = own(data);
  if (!mine.empty()) {
    for (const int rank : members_) {
      if (rank != communicator_.rank()) {
        communicator_.copy(mine, *communicator_.peer(mine, rank));
      }
    }
  }
  communicator_.barrier();
}

}  // namespace scalebench
