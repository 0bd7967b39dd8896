// SPDX-License-Identifier: Apache-2.0
// What transports whose ranks address each other's memory are made of. Memory that several
// processes of one host map at once is an anonymous file in memory, which needs no room in
// /dev/shm, has no name to clash or to be left behind, and is gone with its last user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

/// What a process tells others of its segment: where they find it, and which one it is. A process
/// number alone may be another process's by then, or in another container.
struct SegmentName {
  int process = -1;
  int descriptor = -1;
  std::uint64_t device = 0;
  std::uint64_t file = 0;  // inode
};

/// Which of a segment's pages a process has mapped from the beginning. All of them are there.
enum class Mapped {
  whole,   // no first use of one is a page fault in somebody's timed region
  on_use,  // where a process uses little of many large ones
};

class SharedSegment {
 public:
  SharedSegment() = default;
  /// Zeroed memory of this process, all of it really there. Throws Error with the bytes asked for
  /// when there is not enough.
  explicit SharedSegment(std::size_t bytes, Mapped mapped = Mapped::whole);
  /// The segment of `bytes` that another process has told this one of. Throws Error when this
  /// process may not open it, and when what it finds there is another file or has another size.
  SharedSegment(const SegmentName& name, std::size_t bytes, Mapped mapped = Mapped::whole);
  ~SharedSegment();
  SharedSegment(SharedSegment&& other) noexcept { swap(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// What peers open it by; its descriptor is -1 once closed.
  SegmentName name() const;
  /// All peers have opened it: the mappings stay, the descriptor goes.
  void close_descriptor();

 private:
  void require_same(const SegmentName& name) const;
  void map(Mapped mapped);
  /// Makes sure that all of it is really there.
  void fill();
  void let_go();
  void give_up_unless(const std::function<void()>& step);
  void swap(SharedSegment& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

/// A segment of this rank and the same of every rank of its host.
struct SharedSegments {
  SharedSegment own;
  std::vector<SharedSegment> of_peers;
  std::vector<std::byte*> base_of_rank;  // null: on another host
};

/// Collective: every rank makes a segment of that size and maps those of its host's other ranks.
/// `problem`: why this rank could not, else empty. Until all are known to have done it, the own
/// descriptor stays open.
SharedSegments share_segments(Communicator& control, std::size_t bytes, std::string& problem,
                              Mapped mapped = Mapped::whole);

/// Collective: whether the threads that are ranks of this one's host cannot all have a processor of
/// their own. Who waits for a rank that cannot run meanwhile has to give its own away.
bool share_processors(Communicator& control);

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
  /// Copies a piece to byte `at` of the incoming message. On return the sender may make the next
  /// one ready; where only devices have yet to copy, it knows how to wait for them.
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
  int patience_;
  SharedSegments shared_;
};

// The windows of a communicator: where each one lies in this rank, and at which address this rank
// finds the same window of every other. Looked up in every call of peer(), so a short flat list.

class WindowTable {
 public:
  /// `base_of_rank[rank]` is this rank's own; null: out of reach. Windows are numbered in the order
  /// of insertion, which is the same on all ranks; the number is returned.
  std::uint64_t insert(std::vector<std::byte*> base_of_rank, int rank, std::size_t bytes) {
    std::byte* own = base_of_rank[static_cast<std::size_t>(rank)];
    entries_.push_back({next_number_, own, bytes, std::move(base_of_rank)});
    return next_number_++;
  }

  void erase(const std::byte* own_base) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.own == own_base; });
  }

  /// The same part of the same window of `rank`.
  std::optional<Span> find(Span mine, int rank) const {
    const Entry* entry = entry_of(mine);
    if (entry == nullptr) return std::nullopt;
    std::byte* base = entry->base_of_rank[static_cast<std::size_t>(rank)];
    if (base == nullptr) return std::nullopt;
    return Span{base + (mine.data - entry->own), mine.count, mine.dtype, mine.memory};
  }

  /// Number of the window that holds `mine`, and the offset in bytes there.
  std::optional<std::pair<std::uint64_t, std::size_t>> place(ConstSpan mine) const {
    const Entry* entry = entry_of(mine);
    if (entry == nullptr) return std::nullopt;
    return std::pair(entry->number, static_cast<std::size_t>(mine.data - entry->own));
  }

  /// Where window `number` of `rank` begins; null when there is none.
  std::byte* base(std::uint64_t number, int rank) const {
    for (const Entry& entry : entries_) {
      if (entry.number == number) return entry.base_of_rank[static_cast<std::size_t>(rank)];
    }
    return nullptr;
  }

 private:
  struct Entry {
    std::uint64_t number;
    std::byte* own;
    std::size_t bytes;
    std::vector<std::byte*> base_of_rank;
  };

  const Entry* entry_of(ConstSpan mine) const {
    for (const Entry& entry : entries_) {
      if (mine.data >= entry.own && mine.data + mine.bytes() <= entry.own + entry.bytes) {
        return &entry;
      }
    }
    return nullptr;
  }

  std::vector<Entry> entries_;
  std::uint64_t next_number_ = 0;
};

}  // namespace scalebench
