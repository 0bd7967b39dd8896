// SPDX-License-Identifier: Apache-2.0
// Where ranks of one host tell each other what lies ready in memory that both can address, and when
// it has been taken. Nobody waits for more than its own two messages, as in MPI_Sendrecv, so that
// what is free of deadlocks there is so here; with blocking control messages as acknowledgments it
// would not be. Cost of a piece: two cache lines from core to core. Knows nothing of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/shared_segment.hpp"

namespace scalebench {

/// Part of a message, and where its receiver finds it.
struct Piece {
  std::uint64_t window;  // number and offset are the caller's business
  std::uint64_t offset;
  std::uint64_t bytes;          // of this piece, more than 0
  std::uint64_t message_bytes;  // of the whole message, to be held against the receiver's
};

class Rendezvous {
 public:
  /// Makes the piece of the outgoing message that begins at byte `at` ready to be read by its
  /// receiver, and leaves it so until it is asked for the next one or the exchange ends.
  using Offer = std::function<Piece(std::size_t at)>;
  /// Copies a piece to byte `at` of the incoming message; done on return.
  using Take = std::function<void(const Piece& piece, std::size_t at)>;

  /// Collective over `control`, all of whose ranks are on one host. Throws Unavailable, on every
  /// rank, when they cannot map each other's memory.
  explicit Rendezvous(Communicator& control);
  ~Rendezvous() { leave(); }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// As Communicator::exchange(); 0 bytes: that side does not take place. Throws Error when the
  /// peer sends another number of bytes, or left before its part was done.
  void exchange(std::size_t out_bytes, int to, const Offer& offer, std::size_t in_bytes, int from,
                const Take& take);

  /// This rank will exchange no more: whoever waits for it gets an Error instead of nothing.
  void leave() noexcept;

 private:
  struct Slot;
  struct Row;

  Row& row(int rank) const;
  Slot& slot(int from, int to) const;

  const int rank_;
  const int size_;
  int patience_;
  SharedSegment own_;
  std::vector<SharedSegment> of_peers_;
  std::vector<std::byte*> base_of_rank_;
};

}  // namespace scalebench
