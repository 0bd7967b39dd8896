// SPDX-License-Identifier: Apache-2.0
// How many calls of a communicator a rank has begun and ended: whoever watches it from another
// thread then knows whether it waits for other ranks or works on its own. Cost: two stores a call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace scalebench {

/// Written by the thread that makes it, read by any. Calls of other threads do not count: a thread
/// that moves gradients waits while its rank computes.
class CallMarks {
 public:
  struct Count {
    std::uint64_t begun = 0, ended = 0;  // begun > ended: inside a call
    std::size_t bytes = 0;               // at most, that the latest one moves in one direction
  };
  Count read() const {
    // In this order: a call that begins and ends in between is then at most begun.
    const std::uint64_t ended = ended_.load(std::memory_order_acquire);
    return {begun_.load(std::memory_order_relaxed), ended, bytes_.load(std::memory_order_relaxed)};
  }

  /// For the length of a call. `marks` may be null: nobody watches.
  class Call {
   public:
    explicit Call(CallMarks* marks, std::size_t bytes = 0)
        : marks_(marks != nullptr && marks->owner_ == std::this_thread::get_id() ? marks
                                                                                 : nullptr) {
      if (marks_ == nullptr) return;
      marks_->bytes_.store(bytes, std::memory_order_relaxed);
      marks_->begun_.store(marks_->begun_.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
    }
    ~Call() {
      if (marks_ == nullptr) return;
      marks_->ended_.store(marks_->ended_.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallMarks* marks_;
  };

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace scalebench
