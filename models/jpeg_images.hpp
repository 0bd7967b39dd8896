// SPDX-License-Identifier: Apache-2.0
// A JPEG folder as batches on the CPU: each call of at() decodes its images one after the other.
#pragma once

#include "models/image_source.hpp"
#include "models/jpeg_folder.hpp"

namespace scalebench {

class JpegImages final : public ImageSource {
 public:
  /// As JpegFolder.
  JpegImages(const std::filesystem::path& directory, Split split, const ImageShape& model,
             std::uint64_t seed, BadImages policy)
      : model_(model), folder_(directory, split, model, seed, policy) {}

  const std::string& name() const override { return folder_.list().name; }
  std::int64_t count() const override { return folder_.list().count(); }
  torch::Device device() const override { return torch::kCPU; }
  Batch at(const torch::Tensor& indices, int epoch, const std::stop_token& stop) const override;
  std::int64_t files() const override { return count(); }
  std::filesystem::path file(std::int64_t index) const override {
    return folder_.list().path(index);
  }
  std::vector<std::string> take_warnings() const override { return folder_.take_warnings(); }

 private:
  ImageShape model_;
  JpegFolder folder_;
};

}  // namespace scalebench
