// SPDX-License-Identifier: Apache-2.0
// Communicators that show how an algorithm goes about its work.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/forwarding.hpp"

namespace scalebench {

/// Ranks of a transport without windows, which were given out to nodes in turn: 0 1 2 0 1 2 0.
class ScatteredRanks final : public Communicator {
 public:
  explicit ScatteredRanks(Communicator& inner) : Communicator(inner.memory()), inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override {
    Topology topology;
    for (int rank = 0; rank < size(); ++rank) topology.node_of_rank.push_back(rank % 3);
    return topology;
  }
  std::string_view transport() const override { return "scattered"; }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    inner_.exchange(out, to, in, from);
  }
  void barrier() override { inner_.barrier(); }
  std::optional<Span> peer(Span, int) override {
    asked_for_peers_ = true;
    return std::nullopt;
  }

  bool asked_for_peers() const { return asked_for_peers_; }

 private:
  Communicator& inner_;
  bool asked_for_peers_ = false;
};

/// Numbers lie scrambled in memory, and only combine() and scale() of this communicator read them:
/// an operator that is applied past it spoils the result. So an exact result was made by calls that
/// can be counted. Fill and read buffers through scramble().
class SealedRanks final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  /// There and back; for numbers of 4 bytes.
  static void scramble(Span data) {
    std::array<std::uint32_t, 1024> words{};  // at once: a sanitizer looks at each memcpy
    for (std::size_t i = 0; i < data.bytes(); i += sizeof(words)) {
      const std::size_t bytes = std::min(sizeof(words), data.bytes() - i);
      std::memcpy(words.data(), data.data + i, bytes);
      for (std::uint32_t& word : words) word ^= 0x5A5A5A5AU;
      std::memcpy(data.data + i, words.data(), bytes);
    }
  }

  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    while (plain_.size() < from.size()) plain_.emplace_back(Memory::host);
    std::vector<ConstSpan> sources;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Span source = plain_[i].get(from[i].count, from[i].dtype);
      inner_.copy(from[i], source);
      scramble(source);
      sources.push_back(source);
    }
    const Span result = result_.get(to.front().count, to.front().dtype);
    inner_.combine(sources, std::span(&result, 1), op);
    scramble(result);
    for (const Span destination : to) inner_.copy(result, destination);
  }
  void scale(Span values, double factor) override {
    scramble(values);
    inner_.scale(values, factor);
    scramble(values);
  }

 private:
  std::deque<ScratchBuffer> plain_;
  ScratchBuffer result_{Memory::host};
};

}  // namespace scalebench
