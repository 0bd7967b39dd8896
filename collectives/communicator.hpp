// SPDX-License-Identifier: Apache-2.0
// All that an allreduce algorithm may use: who takes part, how to move and combine numbers.
// A transport (MPI, shared memory, NCCL, CUDA IPC) implements it; algorithms and
// transports are independent axes. Calls are collective only where they say so. Every call may
// throw Error.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call_marks.hpp"
#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {

// Memory that a transport lends to an algorithm: it grows to the largest request and stays, so that
// nothing is allocated once a case has warmed up.

class ScratchBuffer {
 public:
  explicit ScratchBuffer(Memory memory) : memory_(memory) {}

  /// Of what it grows next.
  void set_pages(Pages pages) { pages_ = pages; }

  bool holds(std::size_t count, DType dtype) const {
    return count * size_of(dtype) <= buffer_.bytes();
  }
  /// `count` elements of `dtype` with undefined content, valid until the next call.
  Span get(std::size_t count, DType dtype) {
    if (!holds(count, dtype)) {
      const std::size_t doubles = (count * size_of(dtype) + sizeof(double) - 1) / sizeof(double);
      buffer_ = {};  // before the larger one is there
      buffer_ = Buffer(doubles, DType::float64, memory_, pages_);
    }
    return {buffer_.span().data, count, dtype, memory_};
  }

 private:
  Memory memory_;
  Pages pages_ = Pages::huge;
  Buffer buffer_;
};

class AllreduceChoices;

/// Which ranks share a node, by rank: node_of_rank[r] is 0-based and dense.
struct Topology {
  std::vector<int> node_of_rank;
  int nodes() const;
};

/// Ranks with equal host names share a node.
Topology topology_of_hosts(std::span<const std::string> host_of_rank);

/// Memory of one rank that its peers can address where the transport allows it. Letting go of the
/// last copy of `owner` is collective, and comes before the communicator's end.
struct Window {
  Span span;
  std::shared_ptr<void> owner;
};

class Communicator {
 public:
  explicit Communicator(Memory memory) : memory_(memory), scratch_(memory) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Topology topology() const = 0;
  /// The transport's name in tables and CSVs, and the memory its spans must be in.
  virtual std::string_view transport() const = 0;
  Memory memory() const { return memory_; }

  /// Sends `out` to rank `to` while receiving `in` from rank `from`; both sides may name different
  /// ranks. An empty span means that this side does not take place; the peer's matching span must
  /// then be empty too. On a device the work is enqueued; wait() completes it.
  virtual void exchange(ConstSpan out, int to, Span in, int from) = 0;

  /// exchange(), and while it waits `meanwhile` is called again and again, as long as it returns
  /// true: for what the caller must not leave lying, such as messages over another transport. It
  /// may throw, which ends the exchange. A transport that others leave messages to does so; the
  /// base only waits, and the caller goes on with the rest afterwards.
  virtual void exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                                  const std::function<bool()>& meanwhile);

  /// exchange(), and what arrives is combined: into[i] = own[i] op message[i]. `into` may be `own`,
  /// and neither shares anything with `out`. A transport may combine out of the peer's memory,
  /// without writing the message down first: five passes over memory instead of seven.
  virtual void exchange_reduce(ConstSpan out, int to, ConstSpan own, Span into, int from,
                               ReduceOp op);

  /// Whether a message of rank `from`, another one, waits to be received here; returns at once. A
  /// rank that serves several others asks whose turn it is. Throws Unavailable where the transport
  /// cannot tell, and Error where it knows that a rank has failed.
  virtual bool pending(int from);

  /// As the kernels of these names, in order after earlier work of this communicator. The spans may
  /// be this rank's own or come from peer().
  virtual void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op);
  virtual void scale(Span values, double factor);
  virtual void copy(ConstSpan from, Span to);
  /// into[i] = a[i] op b[i]; `into` may be one of them.
  void reduce(ConstSpan a, ConstSpan b, Span into, ReduceOp op) {
    const ConstSpan both[]{a, b};
    combine(both, std::span<const Span>(&into, 1), op);
  }

  /// Scratch memory in memory(), valid until the next call; grows only while warming up.
  virtual Span scratch(std::size_t count, DType dtype);

  /// Of what pages windows and scratch of this process's own are made from now on, huge ones unless
  /// this is called before there are any. What other processes map is made of standard ones.
  void set_pages(Pages pages) {
    pages_ = pages;
    scratch_.set_pages(pages);
  }

  /// Collective, with the same arguments on all ranks: zeroed memory for buffers that are reduced
  /// often. Any span works in every call, but only windows can be reached by peer().
  virtual Window window(std::size_t count, DType dtype);

  /// Collective, with the same arguments on all ranks: scratch within a window. Two calls in a row
  /// return different memory, so that a slower peer may still be reading what the first one got;
  /// with a barrier() after each, the third call may reuse the first one's.
  virtual Span shared_scratch(std::size_t count, DType dtype);

  /// The same part of the same window of another rank, where it can be addressed directly; `mine`
  /// itself for this rank. Empty: `mine` is in no window, or `rank` is out of reach. Whether ranks
  /// are in reach is the same for all windows.
  virtual std::optional<Span> peer(Span mine, int rank);

  /// Collective, with the same count on all ranks, for the shortest messages: every rank's `in`,
  /// one after the other by rank, is copied to `all`. One look at each peer's memory, where a
  /// barrier and reading what it announces are two. False, on all ranks alike and with nothing
  /// done: the transport has no such way, or `in` is longer than kMostShortBytes.
  virtual bool gather_short(ConstSpan in, Span all);
  static constexpr std::size_t kMostShortBytes = 1024;

  /// Returns when everything enqueued by this rank is done.
  virtual void wait() {}

  /// Collective: no rank leaves before all have entered. Includes wait(); what a rank wrote into
  /// windows before it entered is seen by all that have left.
  virtual void barrier() = 0;

  /// Collective: the transport library's own allreduce; `in` and `out` are equal or apart. False:
  /// this transport has none for this dtype and op.
  virtual bool native_allreduce(ConstSpan in, Span out, ReduceOp op);

  /// How the library was told of the latest window, in the words of result files; empty: there is
  /// no such thing here, or no window yet.
  virtual std::string_view registration() const { return {}; }

  /// Where work is enqueued; the default one on the host, where nothing is.
  virtual DeviceStream stream() const { return {}; }

  /// True where an allreduce only enqueues work on stream(), once it has warmed up and as long as
  /// it calls neither wait() nor barrier(), so that a DeviceGraph can record and replay it. The
  /// graph goes before the communicator.
  virtual bool capturable() const { return false; }

  /// Who is told, from now on, of every call in which this rank may wait for others, and outlives
  /// it; null: nobody. Not of waits inside kernels that only enqueue.
  void set_marks(CallMarks* marks) { marks_ = marks; }
  CallMarks* marks() const { return marks_; }

  /// The measured table from which the algorithm `auto` chooses; null: none was given.
  const AllreduceChoices* choices() const { return choices_.get(); }
  void set_choices(std::shared_ptr<const AllreduceChoices> choices);

 private:
  const Memory memory_;
  Pages pages_ = Pages::huge;
  ScratchBuffer scratch_;
  Window shared_scratch_[2];
  unsigned next_shared_scratch_ = 0;
  std::shared_ptr<const AllreduceChoices> choices_;
  CallMarks* marks_ = nullptr;
};

}  // namespace scalebench
