// SPDX-License-Identifier: Apache-2.0
#include "models/data/batch_stream.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "kernels/device.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {
namespace {

void sleep_unless_stopped(double seconds, const std::stop_token& stop) {
  if (seconds <= 0) return;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any nobody;
  nobody.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

/// Its own copy of the indices, where the source wants them.
torch::Tensor uploaded(const std::vector<std::int64_t>& order, torch::Device device) {
  auto* const data = const_cast<std::int64_t*>(order.data());
  return torch::from_blob(data, {static_cast<std::int64_t>(order.size())}, torch::kInt64)
      .to(device, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

Batch batch_of(const ImageSource& source, const torch::Tensor& indices, int epoch,
               bool channels_last, const std::stop_token& stop) {
  Batch batch = source.at(indices, epoch, stop);
  if (channels_last) batch.images = batch.images.contiguous(torch::MemoryFormat::ChannelsLast);
  return batch;
}

BatchStream::BatchStream(const ImageSource& source, const std::vector<std::int64_t>& order,
                         torch::Device device, const BatchStreamOptions& options)
    : source_(source),
      order_(uploaded(order, source.device())),
      device_(device),
      options_(options),
      by_index_(options.by_index && source.device() == device && options.loader_threads == 0 &&
                options.throttle_seconds <= 0),
      prefetcher_(
          options.loader_threads, (order_.size(0) + options.batch - 1) / options.batch,
          [this](std::int64_t number, const std::stop_token& stop) { return make(number, stop); }) {
}

Batch BatchStream::make(std::int64_t number, const std::stop_token& stop) const {
  if (by_index_) return {.indices = indices_of(number)};
  if (options_.loader_threads > 0) {
    compute_with_one_thread();
    // Pinned memory belongs to the device that the thread has selected.
    if (device_.is_cuda()) select_device(device_.index());
  }
  sleep_unless_stopped(options_.throttle_seconds, stop);
  Batch batch = batch_of(source_, indices_of(number), options_.epoch, options_.channels_last, stop);
  if (device_.is_cuda() && source_.device().is_cpu()) {
    batch.images = batch.images.pin_memory();
    batch.labels = batch.labels.pin_memory();
  }
  return batch;
}

torch::Tensor BatchStream::indices_of(std::int64_t number) const {
  const std::int64_t first = number * options_.batch;
  return order_.narrow(0, first, std::min(options_.batch, order_.size(0) - first));
}

Batch BatchStream::next() {
  Batch batch = prefetcher_.next();
  if (source_.device() != device_) {
    batch.images = batch.images.to(device_, /*non_blocking=*/true);
    batch.labels = batch.labels.to(device_, /*non_blocking=*/true);
  }
  return batch;
}

}  // namespace scalebench
