// SPDX-License-Identifier: Apache-2.0
// A data set on the training device, as bytes, and its conversion to what a model takes. One
// conversion for every data set, so that none needs constants of its own:
//   1. zeros around the image, as evenly as possible, up to the model's height and width
//   2. pixel / 255, then (x - .5) / .5, which spans [-1, 1]
//   3. the one grey channel repeated, if the model takes several
// Cost: one gather of bytes and two passes over the batch, on the device, while loading.
#pragma once

#include <torch/torch.h>

#include "models/dataset.hpp"

namespace scalebench {

class ImageStore {
 public:
  /// images: float32 (n, channels, height, width) of the model; labels: int64 (n).
  struct Batch {
    torch::Tensor images;
    torch::Tensor labels;
  };

  /// Copies `set` to `device`. Throws UsageError when its images are larger than the model's, have
  /// several channels but not the model's number, or more classes.
  ImageStore(const Dataset& set, const ImageShape& model, torch::Device device);

  const std::string& name() const { return name_; }
  std::int64_t count() const { return labels_.size(0); }

  /// The images at `indices`, int64 on the device.
  Batch at(const torch::Tensor& indices) const;
  /// The images [first, first + length).
  Batch range(std::int64_t first, std::int64_t length) const;

 private:
  torch::Tensor convert(torch::Tensor bytes) const;

  std::string name_;
  ImageShape model_;
  torch::Tensor images_;
  torch::Tensor labels_;
};

}  // namespace scalebench
