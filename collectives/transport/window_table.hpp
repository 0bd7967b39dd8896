// SPDX-License-Identifier: Apache-2.0
// The windows of a communicator: where each one lies in this rank, and at which address this rank
// finds the same window of every other. Looked up in every call of peer(), so a short flat list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/buffer.hpp"

namespace scalebench {

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
