// SPDX-License-Identifier: Apache-2.0
// One split of a data set as batches of what a model takes, wherever its bytes are: ImageStore has
// them in memory, JpegImages on disk.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "models/dataset.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct Batch {
  /// float32 (n, channels, height, width) of the model, in [-1, 1]; int64 (n).
  torch::Tensor images;
  torch::Tensor labels;
  /// Images in it that stand for others, which could not be decoded.
  std::int64_t replaced = 0;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual const std::string& name() const = 0;
  virtual std::int64_t count() const = 0;
  /// Where indices must be and batches are.
  virtual torch::Device device() const = 0;
  /// The images at `indices`, int64 (n), as they look in `epoch`. Several threads may call it at
  /// once. When `stop` is requested it may return early with a batch of no meaning.
  virtual Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const = 0;

  /// Files that are read while training: none when all is in memory.
  virtual std::int64_t files() const { return 0; }
  virtual std::filesystem::path file(std::int64_t) const { return {}; }
  /// One line for each image that was found to be broken since the last call.
  virtual std::vector<std::string> take_warnings() const { return {}; }
};

/// What options.dataset names, for options.model. Sets in memory are put on `device`. Throws
/// UsageError with what was expected and what was found.
std::unique_ptr<ImageSource> open_image_source(const TrainerOptions& options, Split split,
                                               torch::Device device);

}  // namespace scalebench
