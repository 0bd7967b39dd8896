// SPDX-License-Identifier: Apache-2.0
// All that an allreduce algorithm may use: who takes part, how to move and add numbers.
// A transport (threads, MPI, NCCL) implements it; algorithms and transports are independent axes.
// Calls are collective only where they say so. Every call may throw Error.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/span.hpp"

namespace scalebench {

/// Which ranks share a node, by rank: node_of_rank[r] is 0-based and dense.
struct Topology {
  std::vector<int> node_of_rank;
  int nodes() const;
};

/// Ranks with equal host names share a node.
Topology topology_of_hosts(std::span<const std::string> host_of_rank);

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Topology topology() const = 0;
  /// The transport's name in tables and CSVs, and the memory its spans must be in.
  virtual std::string_view transport() const = 0;
  virtual Memory memory() const = 0;

  /// Sends `out` to rank `to` while receiving `in` from rank `from`; both sides may name different
  /// ranks. An empty span means that this side does not take place; the peer's matching span must
  /// then be empty too. On a device the work is enqueued; wait() completes it.
  virtual void exchange(ConstSpan out, int to, Span in, int from) = 0;

  /// into[i] += from[i], in order after earlier exchanges. Equal counts and dtypes.
  virtual void add(Span into, ConstSpan from) = 0;

  /// Scratch memory in memory(), valid until the next call; grows only while warming up.
  virtual Span scratch(std::size_t count, DType dtype) = 0;

  /// Returns when everything enqueued by this rank is done.
  virtual void wait() = 0;

  /// Collective: no rank leaves before all have entered. Includes wait().
  virtual void barrier() = 0;

  /// The same buffer of another rank where it can be addressed directly, else empty.
  virtual std::optional<Span> peer(Span mine, int rank);

  /// Collective: the transport library's own sum in place. False: this transport has none.
  virtual bool native_allreduce(Span data);
};

}  // namespace scalebench
