// SPDX-License-Identifier: Apache-2.0
// A communicator that counts what passes through it: the traffic and the work that an algorithm
// really causes, to be held against what its line in allreduce.def claims.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner)
      : Communicator(inner.memory()), inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override { return inner_.topology(); }
  std::string_view transport() const override { return inner_.transport(); }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    ++steps_;
    elements_sent_ += out.count;
    inner_.exchange(out, to, in, from);
  }
  bool pending(int from) override { return inner_.pending(from); }
  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    elements_reduced_ += (from.size() - 1) * from.front().count;
    for (const ConstSpan source : from) count_if_of_peer(source);
    for (const Span destination : to) count_if_of_peer(destination);
    inner_.combine(from, to, op);
  }
  void scale(Span values, double factor) override { inner_.scale(values, factor); }
  void copy(ConstSpan from, Span to) override {
    count_if_of_peer(from);
    count_if_of_peer(to);
    inner_.copy(from, to);
  }
  Span scratch(std::size_t count, DType dtype) override { return inner_.scratch(count, dtype); }
  Window window(std::size_t count, DType dtype) override { return inner_.window(count, dtype); }
  Span shared_scratch(std::size_t count, DType dtype) override {
    return inner_.shared_scratch(count, dtype);
  }
  std::optional<Span> peer(Span mine, int rank) override {
    const std::optional<Span> found = inner_.peer(mine, rank);
    if (found && rank != this->rank()) of_peers_.push_back(*found);
    return found;
  }
  void wait() override { inner_.wait(); }
  void barrier() override {
    ++steps_;
    inner_.barrier();
  }
  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    return inner_.native_allreduce(in, out, op);
  }
  DeviceStream stream() const override { return inner_.stream(); }

  /// Exchanges and barriers.
  std::size_t steps() const { return steps_; }
  /// Sent in exchanges, or read from and written to peers' memory directly.
  std::size_t elements_sent() const { return elements_sent_; }
  /// Applications of the reduction's operator.
  std::size_t elements_reduced() const { return elements_reduced_; }

 private:
  void count_if_of_peer(ConstSpan span) {
    for (const Span& remote : of_peers_) {
      if (span.data >= remote.data && span.data < remote.data + remote.bytes()) {
        elements_sent_ += span.count;
        return;
      }
    }
  }

  Communicator& inner_;
  std::vector<Span> of_peers_;
  std::size_t steps_ = 0;
  std::size_t elements_sent_ = 0;
  std::size_t elements_reduced_ = 0;
};

}  // namespace scalebench
