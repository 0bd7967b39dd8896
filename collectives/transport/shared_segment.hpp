// SPDX-License-Identifier: Apache-2.0
// Memory that several processes of one host map at once: an anonymous file in memory, which needs
// no room in /dev/shm, has no name to clash or to be left behind, and is gone with its last user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

class SharedSegment {
 public:
  SharedSegment() = default;
  /// Zeroed memory of this process, all of it really there. Throws Error with the bytes asked for
  /// when there is not enough.
  explicit SharedSegment(std::size_t bytes);
  /// The segment behind the open descriptor `descriptor` of process `pid`. Throws Error when this
  /// process may not open it.
  SharedSegment(int pid, int descriptor, std::size_t bytes);
  ~SharedSegment();
  SharedSegment(SharedSegment&& other) noexcept { swap(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// What peers open; -1 once closed.
  int descriptor() const { return descriptor_; }
  /// All peers have opened it: the mappings stay, the descriptor goes.
  void close_descriptor();

 private:
  void map();
  void swap(SharedSegment& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

// Where ranks of one host tell each other what lies ready in memory that both can address, and when
// it has been taken. Nobody waits for more than its own two messages, as in MPI_Sendrecv, so that
// what is free of deadlocks there is so here; with blocking control messages as acknowledgments it
// would not be. Cost of a piece: two cache lines from core to core. Knows nothing of devices.

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
