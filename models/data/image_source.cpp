// SPDX-License-Identifier: Apache-2.0
#include "models/data/image_source.hpp"

#include <algorithm>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/data/jpeg_folder.hpp"
#include "models/network/models.hpp"

namespace scalebench {

std::unique_ptr<ImageSource> open_image_source(const std::string& dataset, Split split,
                                               const ImageShape& shape, std::uint64_t seed,
                                               BadImages bad_images, torch::Device device) {
  if (is_jpeg_folder(dataset)) {
    return std::make_unique<JpegImages>(dataset, split, shape, seed, bad_images);
  }
  return std::make_unique<ImageStore>(load_dataset(dataset, split, shape, seed), shape, device);
}

// Bytes in, model input out.

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

namespace {

/// A file that cannot be opened has no pages: reading it for training says so, by the policy for
/// bad images.
template <class Function>
void for_own_files(const ImageSource& source, const Communicator& control, Function function) {
  const std::vector<int> node = control.topology().node_of_rank;
  const auto me = node.begin() + control.rank();
  const auto place = std::count(node.begin(), me, *me);
  const auto helpers = std::count(node.begin(), node.end(), *me);
  for (std::int64_t i = place; i < source.files(); i += helpers) {
    try {
      function(source.file(i));
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

Residency prepare_files(const ImageSource& source, PageCache wanted, Communicator& control) {
  for_own_files(source, control, [&](const std::filesystem::path& file) {
    if (wanted == PageCache::cold) drop_from_page_cache(file);
    if (wanted == PageCache::warm) read_into_page_cache(file);
  });
  // Reading ahead for one file may bring in its neighbour: look when all are done.
  control.barrier();
  Residency mine;
  for_own_files(source, control,
                [&](const std::filesystem::path& file) { mine += residency_of(file); });
  Residency all;
  const std::vector<double> values{static_cast<double>(mine.pages),
                                   static_cast<double>(mine.resident),
                                   static_cast<double>(mine.unknown_files)};
  const std::vector<double> gathered = all_gather(control, std::span(values));
  for (std::size_t i = 0; i < gathered.size(); i += values.size()) {
    all += {static_cast<std::int64_t>(gathered[i]), static_cast<std::int64_t>(gathered[i + 1]),
            static_cast<std::int64_t>(gathered[i + 2])};
  }
  return all;
}

}  // namespace scalebench
