// SPDX-License-Identifier: Apache-2.0
#include "models/data/jpeg_folder.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "kernels/error.hpp"
#include "models/data/resize.hpp"

namespace scalebench {
namespace {

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

JpegFolder::JpegFolder(const std::filesystem::path& directory, Split split, const ImageShape& model,
                       std::uint64_t seed, BadImages policy)
    : list_(checked_list(directory, split, model)),
      split_(split),
      model_(model),
      seed_(seed),
      policy_(policy) {}

void JpegFolder::read_one(std::int64_t index, int epoch, JpegDecoder& decoder,
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
  resize(picture, crop, model_.height, model_.width, pixels);
}

bool JpegFolder::known_bad(std::int64_t index) const {
  const std::lock_guard lock(mutex_);
  return bad_.contains(index);
}

JpegFolder::Read JpegFolder::read(std::int64_t index, int epoch, JpegDecoder& decoder,
                                  std::span<float> pixels) const {
  for (std::int64_t tried = 0; tried < list_.count(); ++tried) {
    const std::int64_t place = (index + tried) % list_.count();
    if (known_bad(place)) continue;
    try {
      read_one(place, epoch, decoder, pixels);
      return {list_.images[static_cast<std::size_t>(place)].label, tried > 0};
    } catch (const Error& error) {
      const std::string line = fmt::format("{}: {}", list_.path(place).string(), error.what());
      if (policy_ == BadImages::stop) throw UsageError(line);
      const std::lock_guard lock(mutex_);
      if (bad_.insert(place).second) warnings_.push_back(line);
    }
  }
  fail<UsageError>("{}: none of {} images can be decoded", list_.root.string(), list_.count());
}

std::vector<std::string> JpegFolder::take_warnings() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

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
