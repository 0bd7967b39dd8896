// SPDX-License-Identifier: Apache-2.0
#include "collectives/staged_exchange.hpp"

#include <span>

#include "kernels/device.hpp"

namespace scalebench {

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
