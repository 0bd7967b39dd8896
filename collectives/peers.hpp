// SPDX-License-Identifier: Apache-2.0
// The memory of all ranks at once, for the algorithms that read and write it directly. Nothing is
// allocated for up to kPeersOnStack ranks: these algorithms exist for their latency.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/chunk.hpp"
#include "collectives/communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {

inline constexpr std::size_t kPeersOnStack = 64;

/// The same part of the same window of every rank, by rank; AnySpan is Span, or ConstSpan to read.
template <class AnySpan>
class PeerSpans {
 public:
  /// False, with undefined content: some rank is out of reach, or `mine` is in no window.
  bool find(Communicator& communicator, Span mine) {
    spans_.clear();
    spans_.reserve(static_cast<std::size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank) {
      const std::optional<Span> found = communicator.peer(mine, rank);
      if (!found) return false;
      spans_.push_back(*found);
    }
    return true;
  }

  /// Only this part of every span.
  void keep(Range range) {
    for (AnySpan& span : spans_) span = span.part(range.first, range.count);
  }

  std::span<const AnySpan> all() const { return spans_; }

 private:
  alignas(AnySpan) std::array<std::byte, kPeersOnStack * sizeof(AnySpan)> stack_;
  std::pmr::monotonic_buffer_resource memory_{stack_.data(), stack_.size()};
  std::pmr::vector<AnySpan> spans_{&memory_};
};

[[noreturn]] inline void fail_out_of_reach(const Communicator& communicator,
                                           std::string_view algorithm) {
  fail<Unavailable>(
      "algorithm {} needs ranks that address each other's memory; transport {} cannot", algorithm,
      communicator.transport());
}

}  // namespace scalebench
