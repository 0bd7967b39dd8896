// SPDX-License-Identifier: Apache-2.0
// The fused gradients in slices of equally many bytes, whatever variables those are, each summed by
// one server, and every rank hosts one: SageMaker's data-parallel library; Herring, SC 2020. Phases
// for g ranks on each of N nodes: reduce-scatter in the node; push and pull between the servers of
// a slice; all-gather. Cost: 2n(g-1)/g elements inside, 2(n/g)(N-1)/N outside. Wins against
// servers that hold whole variables, the largest of which all wait for.
#include "collectives/steps.hpp"
#include "kernels/error.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench::gradient_sync {
namespace {

class BalancedShards : public ReplicaSync {
 public:
  explicit BalancedShards(const GradientSyncInputs& inputs)
      : ReplicaSync(inputs),
        wire_(communicator(), replica().gradients(), inputs.options.wire),
        place_(communicator()),
        group_(communicator(), place_.nodes[place_.node], place_.index, place_.owners,
               wire_.span()) {}

  void synchronise() override {
    replica().finish_step();
    wire_.load();
    const Span data = wire_.span();
    const double share = 1.0 / communicator().size();
    trace().posted(Exchange::collective);
    // Halves are divided before they are summed, which could overflow.
    const bool narrow = data.dtype != DType::float32;
    if (narrow) communicator().scale(data, share);
    group_.reduce_scatter(data, ReduceOp::sum);
    const Span own = group_.own(data);
    if (!own.empty()) {
      push(own);
      if (!narrow) communicator().scale(slice(own, node()), share);
      pull(own);
    }
    group_.all_gather(data);
    communicator().wait();
    trace().ended();
    wire_.store();
  }

  std::string remarks() const override {
    const std::size_t servers = place_.nodes.size() * static_cast<std::size_t>(place_.owners);
    return fmt::format("{} slices of about {} bytes, each on a server of its own", servers,
                       wire_.span().bytes() / servers);
  }

 private:
  int node() const { return static_cast<int>(place_.node); }
  int node_count() const { return static_cast<int>(place_.nodes.size()); }
  int peer_after(int steps) const { return (node() + steps) % node_count(); }
  int peer_before(int steps) const { return (node() + node_count() - steps) % node_count(); }
  int rank_of(int node) const { return place_.peers[static_cast<std::size_t>(node)]; }
  Span slice(Span own, int node) const { return chunk_of(own, node, node_count()); }

  /// Each node's part of a slice goes to the server there, who adds up what comes.
  void push(Span own) {
    const Span mine = slice(own, node());
    for (int step = 1; step < node_count(); ++step) {
      const int to = peer_after(step), from = peer_before(step);
      const Span received = communicator().scratch(mine.count, mine.dtype);
      communicator().exchange(slice(own, to), rank_of(to), received, rank_of(from));
      if (!mine.empty()) communicator().reduce(mine, received, mine, ReduceOp::sum);
    }
  }

  void pull(Span own) {
    for (int step = 1; step < node_count(); ++step) {
      const int to = peer_after(step), from = peer_before(step);
      communicator().exchange(slice(own, node()), rank_of(to), slice(own, from), rank_of(from));
    }
  }

  WireBuffer wire_;
  NodePlace place_;
  ScatterGather group_;
};

}  // namespace

std::unique_ptr<GradientSync> balanced_shards(const GradientSyncInputs& inputs) {
  return std::make_unique<BalancedShards>(inputs);
}

}  // namespace scalebench::gradient_sync
