// SPDX-License-Identifier: Apache-2.0
// A data set on the training device, as bytes, and its conversion to what a model takes. One
// conversion for every data set, so that none needs constants of its own:
//   1. zeros around the image, as evenly as possible, up to the model's height and width
//   2. pixel / 255, then (x - .5) / .5, which spans [-1, 1]
//   3. the one grey channel repeated, if the model takes several
// Cost: one gather of bytes and two passes over the batch, on the device, while loading.
#pragma once

#include "models/image_source.hpp"

namespace scalebench {

class ImageStore final : public ImageSource {
 public:
  /// Copies `set` to `device`. Throws UsageError when its images are larger than the model's, have
  /// several channels but not the model's number, or more classes.
  ImageStore(const Dataset& set, const ImageShape& model, torch::Device device);

  const std::string& name() const override { return name_; }
  std::int64_t count() const override { return labels_.size(0); }
  torch::Device device() const override { return labels_.device(); }

  /// Images look the same in every epoch.
  Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const override;

 private:
  torch::Tensor convert(torch::Tensor bytes) const;

  std::string name_;
  ImageShape model_;
  torch::Tensor images_;
  torch::Tensor labels_;
};

}  // namespace scalebench
