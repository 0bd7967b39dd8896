// SPDX-License-Identifier: Apache-2.0
// The windows of a communicator: where each one lies in this rank, and at which address this rank
// finds the same window of every other. Looked up in every call of peer(), so a short flat list.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/span.hpp"

namespace scalebench {

class WindowTable {
 public:
  /// `base_of_rank[rank]` is this rank's own; null: out of reach.
  void insert(std::vector<std::byte*> base_of_rank, int rank, std::size_t bytes) {
    entries_.push_back({base_of_rank[static_cast<std::size_t>(rank)], bytes, base_of_rank});
  }

  void erase(const std::byte* own_base) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.own == own_base; });
  }

  std::optional<Span> find(Span mine, int rank) const {
    for (const Entry& entry : entries_) {
      if (mine.data < entry.own || mine.data + mine.bytes() > entry.own + entry.bytes) continue;
      std::byte* base = entry.base_of_rank[static_cast<std::size_t>(rank)];
      if (base == nullptr) return std::nullopt;
      return Span{base + (mine.data - entry.own), mine.count, mine.dtype, mine.memory};
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    std::byte* own;
    std::size_t bytes;
    std::vector<std::byte*> base_of_rank;
  };
  std::vector<Entry> entries_;
};

}  // namespace scalebench
