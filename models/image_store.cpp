// SPDX-License-Identifier: Apache-2.0
// Bytes in, model input out.
#include "models/image_store.hpp"

#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A tensor that owns a copy of the bytes. from_blob takes non-const memory; the copy never writes.
torch::Tensor copied(const std::vector<std::uint8_t>& bytes, at::IntArrayRef sizes,
                     torch::Device device) {
  auto* data = const_cast<std::uint8_t*>(bytes.data());
  return torch::from_blob(data, sizes, torch::kUInt8)
      .to(device, /*non_blocking=*/false,
          /*copy=*/true);
}

}  // namespace

ImageStore::ImageStore(const Dataset& set, const ImageShape& model, torch::Device device)
    : name_(set.name), model_(model) {
  const ImageShape& has = set.shape;
  if (has.height > model.height || has.width > model.width ||
      (has.channels != model.channels && has.channels != 1) || has.classes > model.classes) {
    fail<UsageError>(
        "{}: expected images of at most {}x{}x{} and {} classes, found {}x{}x{} and {}", set.name,
        model.channels, model.height, model.width, model.classes, has.channels, has.height,
        has.width, has.classes);
  }
  images_ = copied(set.images, {set.count(), has.channels, has.height, has.width}, device);
  labels_ = copied(set.labels, {set.count()}, device).to(torch::kInt64);
}

torch::Tensor ImageStore::convert(torch::Tensor bytes) const {
  const std::int64_t rows = model_.height - bytes.size(2);
  const std::int64_t columns = model_.width - bytes.size(3);
  if (rows > 0 || columns > 0) {
    bytes = torch::constant_pad_nd(bytes,
                                   {columns / 2, columns - columns / 2, rows / 2, rows - rows / 2});
  }
  torch::Tensor images = bytes.to(torch::kFloat32).mul_(2.0 / 255.0).sub_(1.0);
  if (images.size(1) == model_.channels) return images;
  return images.expand({-1, model_.channels, -1, -1}).contiguous();
}

Batch ImageStore::at(const torch::Tensor& indices, int, const std::stop_token&) const {
  return {convert(images_.index_select(0, indices)), labels_.index_select(0, indices)};
}

}  // namespace scalebench
