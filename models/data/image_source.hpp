// SPDX-License-Identifier: Apache-2.0
// One split of a data set as batches of what a model takes, wherever its bytes are: ImageStore has
// them in memory, JpegImages on disk.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "collectives/communicator.hpp"
#include "kernels/layers/input.hpp"
#include "models/data/dataset.hpp"
#include "models/data/image_folder.hpp"
#include "models/data/picture.hpp"

namespace scalebench {

struct Batch {
  /// float32, or as OnePass says, (n, channels, height, width) of the model, in [-1, 1]; int64 (n).
  torch::Tensor images{};
  torch::Tensor labels{};
  /// Instead of both: where they lie in their source, as BatchStreamOptions::by_index asks.
  torch::Tensor indices{};
};

/// How a batch is made in one pass, with the channel as the fastest index.
struct OnePass {
  /// float32 or bfloat16.
  torch::ScalarType type = torch::kFloat32;
  ImageLayout layout = ImageLayout::plain;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual const std::string& name() const = 0;
  /// See id_of_set().
  virtual const std::string& id() const = 0;
  virtual std::int64_t count() const = 0;
  /// Where indices must be and batches are.
  virtual torch::Device device() const = 0;
  /// The images at `indices`, int64 (n), as they look in `epoch`. Several threads may call it at
  /// once. When `stop` is requested it may return early with a batch of no meaning.
  virtual Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const = 0;

  /// Whether files are read while training; else all is in memory.
  virtual bool reads_files() const { return false; }
};

/// What `dataset` names (see load_dataset), for a model that takes `shape`; `seed` is that of
/// synthetic and shuffled images. Sets in memory are put on `device`, and their batches are made in
/// one pass where that is wanted. Throws UsageError with what was expected and what was found.
std::unique_ptr<ImageSource> open_image_source(const std::string& dataset, Split split,
                                               const ImageShape& shape, std::uint64_t seed,
                                               torch::Device device,
                                               std::optional<OnePass> one_pass = std::nullopt);

// A data set on the training device, as bytes, and its conversion to what a model takes. One
// conversion for every data set, so that none needs constants of its own:
//   1. zeros around the image, as evenly as possible, up to the model's height and width
//   2. pixel / 255, then (x - .5) / .5, which spans [-1, 1]
//   3. the one grey channel repeated, if the model takes several
// Cost: one gather of bytes and two passes over the batch, on the device, while loading; or all of
// it in one pass, with the channel as the fastest index (kernels/layers/input.hpp).

class ImageStore final : public ImageSource {
 public:
  /// Copies `set` to `device`. Throws UsageError when its images are larger than the model's, have
  /// several channels but not the model's number, or more classes.
  ImageStore(const Dataset& set, const ImageShape& model, torch::Device device,
             std::optional<OnePass> one_pass = std::nullopt);

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  std::int64_t count() const override { return labels_.size(0); }
  torch::Device device() const override { return labels_.device(); }

  /// Images look the same in every epoch.
  Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const override;

 private:
  torch::Tensor convert(torch::Tensor bytes) const;
  torch::Tensor gathered(const torch::Tensor& indices, const OnePass& pass) const;

  std::string name_;
  std::string id_;
  ImageShape model_;
  std::optional<OnePass> one_pass_;
  torch::Tensor images_;
  torch::Tensor labels_;
};

/// Writes the crop of an RGB picture, to whole pixels of it, as float32 (3, height, width) of the
/// model in [-1, 1]: bilinear, where pixels get fewer over all of those that one of them covers,
/// and over nothing outside of the crop (as torchvision with antialias).
void write_resized(const Picture& picture, const Crop& crop, const ImageShape& model,
                   std::span<float> pixels);

// The images of an ImageFolder as batches on the CPU, read when they are needed: file, crop, decode
// at the smallest size that has enough pixels, resize, one image after the other. All files stay on
// disk; a step's cost is its images' decoding.

class JpegImages final : public ImageSource {
 public:
  /// Throws UsageError as list_image_folder, when the build cannot decode JPEG, and when the model
  /// does not take 3 channels. The training split is cropped at random, by `seed`.
  JpegImages(const std::filesystem::path& directory, Split split, const ImageShape& model,
             std::uint64_t seed);

  const std::string& name() const override { return list_.name; }
  const std::string& id() const override { return list_.id; }
  std::int64_t count() const override { return list_.count(); }
  torch::Device device() const override { return torch::kCPU; }
  Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const override;
  bool reads_files() const override { return true; }

  /// Writes image `index` as float32 (3, height, width) of the model in [-1, 1] to `pixels`,
  /// cropped as in `epoch`, and returns its label. Any number of threads may call it, each with a
  /// decoder of its own. Throws UsageError with file and reason for an image that cannot be read
  /// or decoded.
  std::int64_t read(std::int64_t index, int epoch, JpegDecoder& decoder,
                    std::span<float> pixels) const;

 private:
  void read_pixels(std::int64_t index, int epoch, JpegDecoder& decoder,
                   std::span<float> pixels) const;

  ImageFolder list_;
  Split split_;
  ImageShape model_;
  std::uint64_t seed_;
};

}  // namespace scalebench
