// SPDX-License-Identifier: Apache-2.0
#include "models/jpeg_images.hpp"

namespace scalebench {

Batch JpegImages::at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const {
  const std::int64_t length = indices.size(0);
  Batch batch{torch::empty({length, model_.channels, model_.height, model_.width}),
              torch::empty({length}, torch::kInt64)};
  const auto pixels = static_cast<std::size_t>(model_.pixels());
  const auto* const index = indices.data_ptr<std::int64_t>();
  auto* const image = batch.images.data_ptr<float>();
  auto* const label = batch.labels.data_ptr<std::int64_t>();
  JpegDecoder decoder;
  for (std::int64_t i = 0; i < length && !stop.stop_requested(); ++i) {
    const auto read = folder_.read(index[i], epoch, decoder,
                                   std::span(image + static_cast<std::size_t>(i) * pixels, pixels));
    label[i] = read.label;
    batch.replaced += read.replaced ? 1 : 0;
  }
  return batch;
}

}  // namespace scalebench
