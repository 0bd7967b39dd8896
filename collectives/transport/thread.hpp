// SPDX-License-Identifier: Apache-2.0
// A queue of messages from one process to another in shared memory. A short message is copied into
// a cell and its sender goes on; of a long one that lies in a window the cell only says where, and
// the receiver copies it from there. Head and tail are on cache lines of their own, each written by
// one side only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "collectives/communicator.hpp"

namespace scalebench {

inline constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Mailbox {
  static constexpr std::size_t kCells = 4;
  static constexpr std::size_t kCellBytes = 8192;
  static constexpr std::uint64_t kInline = ~std::uint64_t{0};

  struct alignas(kCacheLine) Cell {
    std::uint64_t message_bytes;  // of the whole message, to be held against the receiver's
    std::uint64_t bytes;          // that this cell brings
    std::uint64_t window;         // the sender's window they lie in, or kInline
    std::uint64_t offset;         // in bytes, in that window
    alignas(kCacheLine) std::array<std::byte, kCellBytes> payload;
  };

  alignas(kCacheLine) std::atomic<std::uint64_t> posted;  // cells that the sender has filled
  alignas(kCacheLine) std::atomic<std::uint64_t> taken;   // cells that the receiver is done with
  std::array<Cell, kCells> cells;

  Cell& cell(std::uint64_t index) { return cells[index % kCells]; }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

// Ranks as threads of one process: the transport for tests. No launcher, no copies between
// processes, and a mode that shows deadlocks which buffering would hide.

enum class SendMode {
  buffered,    // a send completes at once, its data copied away
  rendezvous,  // a send completes only when it has been received, as large MPI messages do
};

/// Runs `body` once per rank, each on a thread of its own with its own communicator, and returns
/// when all have ended. The first exception of any rank is rethrown, after the others have been
/// woken with an Error instead of waiting for ever. `ranks` >= 1. The topology pretends that each
/// `ranks_per_node` ranks in a row have a node of their own; peer() reaches all ranks nevertheless.
void run_ranks(int ranks, const std::function<void(Communicator&)>& body,
               SendMode mode = SendMode::rendezvous,
               int ranks_per_node = std::numeric_limits<int>::max());

}  // namespace scalebench
