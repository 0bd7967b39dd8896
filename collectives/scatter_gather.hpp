// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter and all-gather of one buffer among a group of ranks, each of which owns one chunk
// of it. Where all groups address each other's windows, an owner reads its chunk from all members
// and writes it to all: n(m-1)/m elements each way for m members, one barrier a half. Otherwise
// the two halves of a ring. As in NCCL's ReduceScatter and AllGather, which ZeRO builds on.
#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

/// 0 .. size-1: the members of a group of all.
std::vector<int> all_ranks(const Communicator& communicator);

class ScatterGather {
 public:
  /// Collective over all ranks, who are in one group each. `members`: ranks of this one's group,
  /// itself at `index`. Member i owns chunk i of `chunks` (see steps.hpp), members beyond own
  /// nothing. `example`: a window of the kind that will be passed.
  ScatterGather(Communicator& communicator, std::vector<int> members, int index, int chunks,
                Span example);

  /// Collective over all ranks: this rank's chunk is reduced over the group; of the rest nothing is
  /// promised. Nobody may write to its buffer before an all_gather() or a barrier has ended.
  void reduce_scatter(Span data, ReduceOp op);
  /// Collective over all ranks: every member's chunk goes to the whole group, which has read what
  /// was there before.
  void all_gather(Span data);

  /// The caller's own chunk.
  Span own(Span data) const;
  /// Whether memory of others is read and written directly.
  bool direct() const { return direct_; }

 private:
  Communicator& communicator_;
  std::vector<int> members_;
  Ring ring_;
  bool direct_;
  std::vector<ConstSpan> sources_;
  std::vector<Span> destinations_;
};

// Messages between memory of any kind over a transport of any kind: what the transport cannot reach
// is copied through memory that it can. Blocking: data is there, or may be overwritten, on return.
// For parameters, activations, optimizer state and single numbers; nothing is combined on the way.

class StagedExchange {
 public:
  explicit StagedExchange(Communicator& communicator) : communicator_(communicator) {}

  /// As Communicator::exchange(). Data on a device must not be in the making on a stream that the
  /// device does not finish when it is asked to.
  void exchange(ConstSpan out, int to, Span in, int from);
  void send(ConstSpan out, int to);
  void receive(Span in, int from);

  /// Collective: rank `root`'s data replaces everybody's; root sends it p-1 times.
  void broadcast(Span data, int root);
  /// Collective: true on every rank if it is true on all. No rank leaves before all have entered.
  bool all_agree(bool mine);

  Communicator& communicator() const { return communicator_; }

 private:
  /// `like` itself where the transport reaches it, else as much of `staging`.
  Span reachable(Span like, Buffer& staging) const;

  Communicator& communicator_;
  Buffer out_;
  Buffer in_;
};

}  // namespace scalebench
