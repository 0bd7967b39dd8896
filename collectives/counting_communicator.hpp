// SPDX-License-Identifier: Apache-2.0
// A communicator that counts what passes through it: the traffic an algorithm really causes, to be
// held against what its line in allreduce.def claims.
#pragma once

#include <cstddef>

#include "collectives/communicator.hpp"

namespace scalebench {

class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override { return inner_.topology(); }
  std::string_view transport() const override { return inner_.transport(); }
  Memory memory() const override { return inner_.memory(); }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    ++exchanges_;
    elements_sent_ += out.count;
    inner_.exchange(out, to, in, from);
  }
  void add(Span into, ConstSpan from) override { inner_.add(into, from); }
  Span scratch(std::size_t count, DType dtype) override { return inner_.scratch(count, dtype); }
  void wait() override { inner_.wait(); }
  void barrier() override { inner_.barrier(); }
  std::optional<Span> peer(Span mine, int rank) override { return inner_.peer(mine, rank); }
  bool native_allreduce(Span data) override { return inner_.native_allreduce(data); }

  std::size_t exchanges() const { return exchanges_; }
  std::size_t elements_sent() const { return elements_sent_; }

 private:
  Communicator& inner_;
  std::size_t exchanges_ = 0;
  std::size_t elements_sent_ = 0;
};

}  // namespace scalebench
