// SPDX-License-Identifier: Apache-2.0
// The batches of one epoch in their order, on the training device, made ahead by loader threads or
// when asked for. Batches are bitwise the same for any number of threads. What a step waits for is
// then the queue, and on a GPU the copy from pinned memory, which is enqueued.
#pragma once

#include <torch/types.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/error.hpp"
#include "models/data/image_source.hpp"

namespace scalebench {

// Items 0 .. count-1 made ahead of their use by K threads and handed out in order. At most 2K items
// wait or are being made, so memory is bounded. With K = 0 an item is made when it is asked for.
// Which thread makes an item is chance; what it contains must depend on its number alone.

template <class Item>
class Prefetcher {
 public:
  /// Makes item `number`. When `stop` is requested the item is no longer wanted: anything may be
  /// returned, soon.
  using Make = std::function<Item(std::int64_t number, const std::stop_token& stop)>;

  Prefetcher(int threads, std::int64_t count, Make make)
      : count_(count), make_(std::move(make)), slots_(2 * static_cast<std::size_t>(threads)) {
    for (int i = 0; i < threads; ++i) {
      workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  /// Returns when the items being made are made or given up; the others are never begun.
  ~Prefetcher() {
    for (std::jthread& worker : workers_) worker.request_stop();
  }

  /// The next item; what making it threw, if it did; Error beyond the last one.
  Item next() {
    if (taken_ == count_) fail("item {} of {}: there are no more", taken_, count_);
    if (workers_.empty()) return make_(taken_++, std::stop_token());
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(taken_);
    made_.wait(lock, [&] { return slot.item.has_value() || slot.error != nullptr; });
    Slot taken = std::exchange(slot, {});
    ++taken_;
    lock.unlock();
    room_.notify_one();
    if (taken.error) std::rethrow_exception(taken.error);
    return std::move(*taken.item);
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::exception_ptr error;
  };

  Slot& slot_of(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number) % slots_.size()];
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto may_begin = [this] {
        return begun_ == count_ || begun_ < taken_ + static_cast<std::int64_t>(slots_.size());
      };
      if (!room_.wait(lock, stop, may_begin) || begun_ == count_) return;
      const std::int64_t number = begun_++;
      lock.unlock();
      Slot slot;
      try {
        slot.item.emplace(make_(number, stop));
      } catch (...) {
        slot.error = std::current_exception();
      }
      lock.lock();
      slot_of(number) = std::move(slot);
      made_.notify_one();
    }
  }

  const std::int64_t count_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::condition_variable_any room_;
  std::vector<Slot> slots_;
  std::int64_t begun_ = 0;
  std::int64_t taken_ = 0;
  /// Last, so that they end before what they use.
  std::vector<std::jthread> workers_;
};

struct BatchStreamOptions {
  std::int64_t batch = 1;
  /// For images that look different in each.
  int epoch = 0;
  int loader_threads = 0;
  /// Every batch is made to take that much longer.
  double throttle_seconds = 0;
  /// Images with the channel as the fastest index.
  bool channels_last = false;
  /// Where its images lie instead of a batch, for a recorded step that makes the batch itself, so
  /// that its kernels are launched with the others. A batch all the same where the source is not on
  /// the training device, or threads make batches ahead, or they are delayed.
  bool by_index = false;
};

/// The images of `source` at `indices`, which are where it wants them, in that order of numbers.
Batch batch_of(const ImageSource& source, const torch::Tensor& indices, int epoch,
               bool channels_last, const std::stop_token& stop = {});

class BatchStream {
 public:
  /// ceil(order.size() / batch) batches of the images at `order`; the last may be shorter.
  /// `source` must outlive the stream. Ends its threads promptly when it is destroyed.
  BatchStream(const ImageSource& source, const std::vector<std::int64_t>& order,
              torch::Device device, const BatchStreamOptions& options);

  /// The next batch. Throws what making it threw.
  Batch next();

 private:
  torch::Tensor indices_of(std::int64_t number) const;
  Batch make(std::int64_t number, const std::stop_token& stop) const;

  const ImageSource& source_;
  torch::Tensor order_;
  torch::Device device_;
  BatchStreamOptions options_;
  bool by_index_;
  /// Last: its threads use the others.
  Prefetcher<Batch> prefetcher_;
};

}  // namespace scalebench
