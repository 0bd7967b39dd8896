// SPDX-License-Identifier: Apache-2.0
// How many calls of a communicator a rank has begun and ended: whoever watches it then
// knows whether it waits for other ranks or works on its own. Cost: two stores a call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace scalebench {

/// Written by the thread that makes it, read by any. Calls of other threads do not count: a thread
/// that moves gradients waits while its rank computes. Nor do calls inside another one.
class CallMarks {
 public:
  struct Count {
    std::uint64_t moves = 0;  // calls begun and ended; odd: inside a call
    std::size_t bytes = 0;    // at most, that the latest one moves in one direction
    bool inside() const { return moves % 2 == 1; }
  };
  Count read() const {
    return {moves_.load(std::memory_order_acquire), bytes_.load(std::memory_order_relaxed)};
  }

  /// For the length of a call. `marks` may be null: nobody watches.
  class Call {
   public:
    explicit Call(CallMarks* marks, std::size_t bytes = 0)
        : marks_(marks != nullptr && marks->is_free_for_this_thread() ? marks : nullptr) {
      if (marks_ == nullptr) return;
      marks_->bytes_.store(bytes, std::memory_order_relaxed);
      marks_->move();
    }
    ~Call() {
      if (marks_ != nullptr) marks_->move();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallMarks* marks_;
  };

 private:
  bool is_free_for_this_thread() const {
    return owner_ == std::this_thread::get_id() && !read().inside();
  }
  // One thread writes: no read-modify-write needs to be atomic.
  void move() {
    moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace scalebench
