// SPDX-License-Identifier: Apache-2.0
// Messages between memory of any kind over a transport of any kind: what the transport cannot reach
// is copied through memory that it can. Blocking: data is there, or may be overwritten, on return.
// For parameters, activations, optimizer state and single numbers; nothing is combined on the way.
#pragma once

#include "collectives/communicator.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

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
