// SPDX-License-Identifier: Apache-2.0
// Hierarchical: inside the nodes and between them, for g ranks on each of N = p/g nodes.
// Phases: reduce-scatter inside the node; a ring allreduce of each chunk among the ranks of all
// nodes that own it; allgather inside the node. Cost: 2(g-1) + 2(N-1) steps, 2n(g-1)/g elements
// sent inside and 2(n/g)(N-1)/N outside. Wins where the network is slow against the node: the g
// ranks share its load, and each element crosses it as rarely as possible. As NCCL's and Horovod's.
// Inside a node the phases are rings. Where its ranks address each other's buffers, they meet
// twice, and the owner of a chunk works on all of them, for all but an Nth while the network is
// busy. On hosts the long parts of a chunk go between nodes in two steps each.
#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {
namespace {

/// What this rank has yet to combine, or to copy: in order, and a piece at a time, so that messages
/// go on in between.
class Work {
 public:
  Work(Communicator& communicator, ReduceOp op)
      : communicator_(communicator),
        op_(op),
        // Some microseconds; on a device it is only enqueued.
        most_(communicator.memory() == Memory::host ? std::size_t{16} * 1024 : kNoLimit) {}

  void add(std::vector<ConstSpan> from, std::vector<Span> to) {
    if (!from.front().empty() && !to.empty()) jobs_.push_back({std::move(from), std::move(to)});
  }

  /// One piece; whether there is more.
  bool go_on() {
    if (jobs_.empty()) return false;
    Job& job = jobs_.front();
    std::vector<ConstSpan> from;
    std::vector<Span> to;
    const std::size_t left = job.from.front().count, now = std::min(most_, left);
    const auto cut = [&](auto& whole, auto& piece) {
      for (auto& span : whole) {
        piece.push_back(span.part(0, now));
        span = span.part(now, left - now);
      }
    };
    cut(job.from, from);
    cut(job.to, to);
    communicator_.combine(from, to, op_);
    if (now == left) jobs_.pop_front();
    return !jobs_.empty();
  }
  void finish() {
    while (go_on()) continue;
  }

 private:
  struct Job {
    std::vector<ConstSpan> from;
    std::vector<Span> to;
  };

  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  Communicator& communicator_;
  const ReduceOp op_;
  const std::size_t most_;  // elements
  std::deque<Job> jobs_;
};

/// The buffers of all ranks of this one's node.
class NodeBuffers {
 public:
  /// `ranks`: of the node, this one at `index`. They bring the same kind of buffer.
  NodeBuffers(Communicator& communicator, const std::vector<int>& ranks, int index, ConstSpan in,
              Span out)
      : communicator_(communicator), ranks_(ranks), index_(static_cast<std::size_t>(index)) {
    // peer() wants a Span; what it finds for `in` is only read.
    const Span readable{const_cast<std::byte*>(in.data), in.count, in.dtype, in.memory};
    reached_ = communicator.memory() == Memory::host &&
               inputs_.find(communicator, readable, ranks_) &&
               outputs_.find(communicator, out, ranks_);
  }

  bool reached() const { return reached_; }

  /// Collective among the node's ranks: what they wrote before is seen by all of them afterwards.
  void meet() {
    float mine = 0, theirs = 0;
    const auto rank = [&](std::size_t index) { return ranks_[index % ranks_.size()]; };
    for (std::size_t apart = 1; apart < ranks_.size(); apart *= 2) {
      communicator_.exchange(span_of(std::span(&mine, 1)), rank(index_ + apart),
                             span_of(std::span(&theirs, 1)), rank(index_ + ranks_.size() - apart));
    }
  }

  /// All inputs into this rank's output. Nothing where they are not reached.
  void combine(Range range, Work& work) const {
    if (!reached_) return;
    std::vector<ConstSpan> from;
    for (const ConstSpan input : inputs_.all()) {
      from.push_back(input.part(range.first, range.count));
    }
    const Span mine = outputs_.all()[index_].part(range.first, range.count);
    const bool there = from.size() == 1 && from.front().data == mine.data;
    if (!there) work.add(std::move(from), {mine});
  }

  /// This rank's output into all others.
  void spread(Range range, Work& work) const {
    if (!reached_) return;
    std::vector<Span> to;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (i != index_) to.push_back(outputs_.all()[i].part(range.first, range.count));
    }
    work.add({outputs_.all()[index_].part(range.first, range.count)}, std::move(to));
  }

 private:
  Communicator& communicator_;
  const std::vector<int>& ranks_;
  const std::size_t index_;
  bool reached_ = false;
  PeerSpans<ConstSpan> inputs_;
  PeerSpans<Span> outputs_;
};

/// Collective among the owners of one chunk: the two halves of a ring between the nodes. What is to
/// be done inside the node, and with what has come, is done while the next message is under way.
void ring_across(Communicator& communicator, const NodePlace& place, const NodeBuffers& buffers,
                 Span out, ReduceOp op) {
  const Ring ring =
      ring_of(place.peers, static_cast<int>(place.node), static_cast<int>(place.peers.size()));
  const Range chunk = range_of_chunks(out, place.index, 1, place.owners);
  // A part of a chunk for each node. On a device all is done in order, so two halves gain nothing.
  const std::size_t shortest = chunk.count / place.peers.size();
  const int messages =
      communicator.memory() == Memory::host ? static_cast<int>(halves_of(shortest)) : 1;
  /// Message of the part that this rank sends in step `step`, and receives in the one before.
  const auto part = [&](int step, int message) {
    const int index = (ring.index - step + 2 * ring.size) % ring.size;
    const Range range = range_of_chunks(out.part(chunk.first, chunk.count),
                                        index * messages + message, 1, ring.size * messages);
    return Range{chunk.first + range.first, range.count};
  };
  const auto span = [&](Range range) { return out.part(range.first, range.count); };

  Work work(communicator, op);
  const std::function<bool()> meanwhile = [&] { return work.go_on(); };
  for (int message = 0; message < messages; ++message) buffers.combine(part(1, message), work);
  work.finish();
  const std::size_t longest =
      range_of_chunks(out.part(chunk.first, chunk.count), 0, 1, ring.size * messages).count;
  const Span scratch = communicator.scratch(2 * longest, out.dtype);
  for (int step = 1, turn = 0; step < ring.size; ++step) {
    for (int message = 0; message < messages; ++message, ++turn) {
      const Range next = part(step + 1, message);
      const Span come = scratch.part(turn % 2 == 0 ? 0 : longest, next.count);
      buffers.combine(next, work);
      communicator.exchange_meanwhile(span(part(step, message)), ring.right, come, ring.left,
                                      meanwhile);
      work.finish();
      work.add({span(next), come}, {span(next)});
      if (messages == 1) work.finish();  // or else what is sent next is the one before it
    }
  }
  work.finish();
  for (int step = 0; step < ring.size; ++step) {
    for (int message = 0; message < messages; ++message) {
      const Range sent = part(step, message);
      buffers.spread(sent, work);
      if (step == ring.size - 1) continue;
      communicator.exchange_meanwhile(span(sent), ring.right, span(part(step + 1, message)),
                                      ring.left, meanwhile);
    }
  }
  work.finish();
}

}  // namespace

void hierarchical(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const NodePlace place(communicator);
  const std::vector<int>& node = place.nodes[place.node];
  NodeBuffers buffers(communicator, node, place.index, in, out);
  const Ring inside = ring_of(node, place.index, place.owners);
  if (buffers.reached()) {
    buffers.meet();
  } else {
    ring_reduce_scatter(communicator, inside, in, out, op);
  }
  if (place.index < place.owners) ring_across(communicator, place, buffers, out, op);
  if (buffers.reached()) {
    buffers.meet();
  } else {
    ring_allgather(communicator, inside, out);
  }
}

}  // namespace scalebench::allreduce
