// SPDX-License-Identifier: Apache-2.0
// The batches of one epoch in their order, on the training device, made ahead by loader threads or
// when asked for. Batches are bitwise the same for any number of threads. What a step waits for is
// then the queue, and on a GPU the copy from pinned memory, which is enqueued.
#pragma once

#include <torch/types.h>

#include <vector>

#include "models/image_source.hpp"
#include "models/prefetcher.hpp"

namespace scalebench {

struct BatchStreamOptions {
  std::int64_t batch = 1;
  /// For images that look different in each.
  int epoch = 0;
  int loader_threads = 0;
  /// Every batch is made to take that much longer.
  double throttle_seconds = 0;
  /// Images with the channel as the fastest index.
  bool channels_last = false;
};

class BatchStream {
 public:
  /// ceil(order.size() / batch) batches of the images at `order`; the last may be shorter.
  /// `source` must outlive the stream. Ends its threads promptly when it is destroyed.
  BatchStream(const ImageSource& source, const std::vector<std::int64_t>& order,
              torch::Device device, const BatchStreamOptions& options);

  /// The next batch. Throws what making it threw.
  Batch next();

 private:
  Batch make(std::int64_t number, const std::stop_token& stop) const;

  const ImageSource& source_;
  torch::Tensor order_;
  torch::Device device_;
  BatchStreamOptions options_;
  /// Last: its threads use the others.
  Prefetcher<Batch> prefetcher_;
};

}  // namespace scalebench
