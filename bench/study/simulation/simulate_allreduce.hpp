// SPDX-License-Identifier: Apache-2.0
// A communicator inside SimGrid's simulation: messages take the simulated network's time by
// themselves; what a rank computes takes none there, so that each reduction waits, in simulated
// time, for what it is modelled to cost. Where results are not checked, data is not touched either.
#pragma once

#include <span>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Memory that takes the room of one block whatever its size, and that messages are not copied
/// from or to: for runs that only ask for the time.
class UntouchedMemory {
 public:
  explicit UntouchedMemory(std::size_t bytes);
  ~UntouchedMemory();
  UntouchedMemory(const UntouchedMemory&) = delete;
  UntouchedMemory& operator=(const UntouchedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

struct ComputeModel {
  double reduce_seconds_per_byte = 0;  // of one operand; 0: reductions are free
  /// Scratch of a run that touches no data; empty: data is real, and scratch the transport's.
  Span untouched = {};
};

class ModelledCommunicator final : public Communicator {
 public:
  ModelledCommunicator(Communicator& inner, ComputeModel model)
      : Communicator(Memory::host), inner_(inner), model_(model) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override { return inner_.topology(); }
  std::string_view transport() const override { return inner_.transport(); }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    inner_.exchange(out, to, in, from);
  }
  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override;
  void scale(Span values, double factor) override;
  void copy(ConstSpan from, Span to) override;
  Span scratch(std::size_t count, DType dtype) override;
  void barrier() override { inner_.barrier(); }
  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    return inner_.native_allreduce(in, out, op);
  }

 private:
  bool real_data() const { return model_.untouched.empty(); }

  Communicator& inner_;
  const ComputeModel model_;
};

}  // namespace scalebench
