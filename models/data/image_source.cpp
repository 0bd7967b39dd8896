// SPDX-License-Identifier: Apache-2.0
#include "models/data/image_source.hpp"

#include <torch/nn/functional/upsampling.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "kernels/error.hpp"
#include "kernels/layers/input.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {

std::unique_ptr<ImageSource> open_image_source(const std::string& dataset, Split split,
                                               const ImageShape& shape, std::uint64_t seed,
                                               torch::Device device,
                                               std::optional<OnePass> one_pass) {
  if (is_jpeg_folder(dataset)) {
    return std::make_unique<JpegImages>(dataset, split, shape, seed);
  }
  return std::make_unique<ImageStore>(load_dataset(dataset, split, shape, seed), shape, device,
                                      one_pass);
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

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail("cannot open: {}", std::strerror(errno));
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail("cannot read: {}", std::strerror(errno));
  return bytes;
}

/// The largest reduction of the whole image that leaves the part at least as large as the output.
int divisor_for(const Crop& crop, const ImageShape& out) {
  for (const int divisor : {8, 4, 2}) {
    if (crop.height >= divisor * out.height && crop.width >= divisor * out.width) return divisor;
  }
  return 1;
}

/// The whole pixels nearest to a part of one side, at least one.
torch::Tensor part_of(const torch::Tensor& pixels, int side, double start, double length) {
  const auto first = std::clamp<std::int64_t>(std::llround(start), 0, pixels.size(side) - 1);
  const auto most = pixels.size(side) - first;
  return pixels.narrow(side, first, std::clamp<std::int64_t>(std::llround(length), 1, most));
}

ImageFolder checked_list(const std::filesystem::path& directory, Split split,
                         const ImageShape& model) {
  if (!has_jpeg()) {
    fail<UsageError>(
        "{}: this build cannot read JPEG folders; install libjpeg-turbo (Debian: "
        "libturbojpeg0-dev) and configure again",
        directory.string());
  }
  if (model.channels != 3) {
    fail<UsageError>("{}: JPEG folders have 3 channels, expected a model that takes 3, found {}",
                     directory.string(), model.channels);
  }
  return list_image_folder(directory, split, model.classes);
}

}  // namespace

ImageStore::ImageStore(const Dataset& set, const ImageShape& model, torch::Device device,
                       std::optional<OnePass> one_pass)
    : name_(set.name), id_(set.id), model_(model), one_pass_(one_pass) {
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

torch::Tensor ImageStore::gathered(const torch::Tensor& indices, const OnePass& pass) const {
  const auto extent = [](auto channels, auto height, auto width) {
    return ImageExtent{static_cast<std::size_t>(channels), static_cast<std::size_t>(height),
                       static_cast<std::size_t>(width)};
  };
  ImageGather gather{.images = images_.data_ptr<std::uint8_t>(),
                     .indices = indices.data_ptr<std::int64_t>(),
                     .count = static_cast<std::size_t>(indices.size(0)),
                     .has = extent(images_.size(1), images_.size(2), images_.size(3)),
                     .wanted = extent(model_.channels, model_.height, model_.width),
                     .layout = pass.layout,
                     .dtype = pass.type == torch::kBFloat16 ? DType::bfloat16 : DType::float32};
  const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  const bool blocks = pass.layout == ImageLayout::blocks;
  torch::Tensor batch = torch::empty(
      {indices.size(0), blocks ? size(kBlockChannels) : model_.channels + size(gather.padding()),
       blocks ? size(gather.blocks_down()) : model_.height,
       blocks ? size(gather.blocks_across()) : model_.width},
      torch::TensorOptions(pass.type).device(device()).memory_format(
          torch::MemoryFormat::ChannelsLast));
  gather.y = batch.data_ptr();
  if (device().is_cuda()) {
    device::gather_images(gather, torch_stream());
  } else {
    gather_images(gather, &in_parallel);
  }
  return batch;
}

Batch ImageStore::at(const torch::Tensor& indices, int, const std::stop_token&) const {
  return {one_pass_ ? gathered(indices, *one_pass_) : convert(images_.index_select(0, indices)),
          labels_.index_select(0, indices)};
}

void write_resized(const Picture& picture, const Crop& crop, const ImageShape& model,
                   std::span<float> pixels) {
  auto* const bytes = const_cast<std::uint8_t*>(picture.pixels.data());  // which nothing writes
  auto part = torch::from_blob(bytes, {1, picture.height, picture.width, 3}, torch::kUInt8);
  part = part_of(part, 1, crop.top, crop.height);
  part = part_of(part, 2, crop.left, crop.width).permute({0, 3, 1, 2});
  const auto resized = torch::nn::functional::interpolate(
      part.to(torch::kFloat, false, false, torch::MemoryFormat::Contiguous),
      torch::nn::functional::InterpolateFuncOptions()
          .size(std::vector<std::int64_t>{model.height, model.width})
          .mode(torch::kBilinear)
          .align_corners(false)
          .antialias(true));
  auto out = torch::from_blob(pixels.data(), {1, 3, model.height, model.width});
  out.copy_(crop.mirrored ? resized.flip({3}) : resized).mul_(2.0 / 255).sub_(1);
}

JpegImages::JpegImages(const std::filesystem::path& directory, Split split, const ImageShape& model,
                       std::uint64_t seed)
    : list_(checked_list(directory, split, model)), split_(split), model_(model), seed_(seed) {}

void JpegImages::read_pixels(std::int64_t index, int epoch, JpegDecoder& decoder,
                             std::span<float> pixels) const {
  const std::vector<std::uint8_t> file = bytes_of(list_.path(index));
  const auto [height, width] = decoder.size(file);
  Crop crop = split_ == Split::train ? training_crop(height, width, seed_, epoch, index)
                                     : evaluation_crop(height, width, model_.height, model_.width);
  Picture picture;
  decoder.decode(file, divisor_for(crop, model_), picture);
  // The reduced sides are rounded up: take the factor that they really have.
  const double down = static_cast<double>(picture.height) / height;
  const double across = static_cast<double>(picture.width) / width;
  crop = {crop.top * down, crop.left * across, crop.height * down, crop.width * across,
          crop.mirrored};
  write_resized(picture, crop, model_, pixels);
}

std::int64_t JpegImages::read(std::int64_t index, int epoch, JpegDecoder& decoder,
                              std::span<float> pixels) const {
  try {
    read_pixels(index, epoch, decoder, pixels);
  } catch (const Error& error) {
    fail<UsageError>("{}: {}", list_.path(index).string(), error.what());
  }
  return list_.images[static_cast<std::size_t>(index)].label;
}

Batch JpegImages::at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const {
  const std::int64_t length = indices.size(0);
  const Batch batch{torch::empty({length, model_.channels, model_.height, model_.width}),
                    torch::empty({length}, torch::kInt64)};
  const auto pixels = static_cast<std::size_t>(model_.pixels());
  const auto* const index = indices.data_ptr<std::int64_t>();
  auto* const image = batch.images.data_ptr<float>();
  auto* const label = batch.labels.data_ptr<std::int64_t>();
  JpegDecoder decoder;
  for (std::int64_t i = 0; i < length && !stop.stop_requested(); ++i) {
    label[i] = read(index[i], epoch, decoder,
                    std::span(image + static_cast<std::size_t>(i) * pixels, pixels));
  }
  return batch;
}

}  // namespace scalebench
