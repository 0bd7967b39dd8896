// SPDX-License-Identifier: Apache-2.0
// A communicator that does as another one, for those that change a part of that.
#pragma once

#include "collectives/communicator.hpp"

namespace scalebench {

/// Forwards what a transport does itself. What the base makes of exchange() and combine() stays
/// made of them, so that whoever overrides those sees all that moves; only registration(), choices
/// and marks are not the inner one's. `inner` outlives this.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(Communicator& inner)
      : Communicator(inner.memory()), inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override { return inner_.topology(); }
  std::string_view transport() const override { return inner_.transport(); }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    inner_.exchange(out, to, in, from);
  }
  bool pending(int from) override { return inner_.pending(from); }
  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    inner_.combine(from, to, op);
  }
  void scale(Span values, double factor) override { inner_.scale(values, factor); }
  void copy(ConstSpan from, Span to) override { inner_.copy(from, to); }
  Span scratch(std::size_t count, DType dtype) override { return inner_.scratch(count, dtype); }
  Window window(std::size_t count, DType dtype) override { return inner_.window(count, dtype); }
  Span shared_scratch(std::size_t count, DType dtype) override {
    return inner_.shared_scratch(count, dtype);
  }
  std::optional<Span> peer(Span mine, int rank) override { return inner_.peer(mine, rank); }
  void wait() override { inner_.wait(); }
  void barrier() override { inner_.barrier(); }
  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    return inner_.native_allreduce(in, out, op);
  }
  DeviceStream stream() const override { return inner_.stream(); }

 protected:
  Communicator& inner_;
};

}  // namespace scalebench
