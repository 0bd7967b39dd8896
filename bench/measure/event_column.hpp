// SPDX-License-Identifier: Apache-2.0
// A list that one thread appends to while others read it: values never move, and the size is
// published after the value. Cost: a store or two; every 16384th append also allocates.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "kernels/error.hpp"

namespace scalebench {

template <class Value>
class EventColumn {
 public:
  EventColumn() { chunks_[0] = std::make_unique<Value[]>(kChunk); }

  /// By one thread at a time. Throws Error beyond 134 million values.
  void append(const Value& value) {
    const std::size_t at = size_.load(std::memory_order_relaxed);
    const std::size_t chunk = at / kChunk;
    if (chunk >= kChunks) fail("an event log holds at most {} events", kChunk * kChunks);
    if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Value[]>(kChunk);
    chunks_[chunk][at % kChunk] = value;
    size_.store(at + 1, std::memory_order_release);
  }

  /// How many may be read.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  const Value& operator[](std::size_t at) const { return chunks_[at / kChunk][at % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 1U << 14U;
  static constexpr std::size_t kChunks = 1U << 13U;

  std::atomic<std::size_t> size_{0};
  std::array<std::unique_ptr<Value[]>, kChunks> chunks_;
};

}  // namespace scalebench
