// SPDX-License-Identifier: Apache-2.0
#include "collectives/scatter_gather.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "collectives/steps.hpp"
#include "kernels/device.hpp"

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

Span StagedExchange::reachable(Span like, Buffer& staging) const {
  const Memory memory = communicator_.memory();
  if (like.empty()) return {nullptr, 0, like.dtype, memory};
  if (like.memory == memory) return like;
  const std::size_t doubles = (like.bytes() + sizeof(double) - 1) / sizeof(double);
  if (doubles > staging.span().count) staging = Buffer(doubles, DType::float64, memory);
  return {staging.span().data, like.count, like.dtype, memory};
}

void StagedExchange::exchange(ConstSpan out, int to, Span in, int from) {
  // The communicator's stream knows nothing of the one on which `out` was made and `in` last read.
  if ((!out.empty() && out.memory == Memory::device) ||
      (!in.empty() && in.memory == Memory::device)) {
    device_synchronize();
  }
  const Span readable{const_cast<std::byte*>(out.data), out.count, out.dtype, out.memory};
  const Span sent = reachable(readable, out_), received = reachable(in, in_);
  if (sent.data != out.data) copy(out, sent);
  communicator_.exchange(sent, to, received, from);
  communicator_.wait();
  if (received.data != in.data) copy(received, in);
}

void StagedExchange::send(ConstSpan out, int to) {
  if (!out.empty()) exchange(out, to, Span{}, to);
}

void StagedExchange::receive(Span in, int from) {
  if (!in.empty()) exchange(ConstSpan{}, from, in, from);
}

void StagedExchange::broadcast(Span data, int root) {
  if (communicator_.rank() != root) return receive(data, root);
  for (int to = 0; to < communicator_.size(); ++to) {
    if (to != root) send(data, to);
  }
}

bool StagedExchange::all_agree(bool mine) {
  double agreed = mine ? 1 : 0;
  const Span word = span_of(std::span(&agreed, 1));
  if (communicator_.rank() == 0) {
    for (int from = 1; from < communicator_.size(); ++from) {
      double theirs = 0;
      receive(span_of(std::span(&theirs, 1)), from);
      if (theirs == 0) agreed = 0;
    }
  } else {
    send(word, 0);
  }
  broadcast(word, 0);
  return agreed != 0;
}

}  // namespace scalebench
