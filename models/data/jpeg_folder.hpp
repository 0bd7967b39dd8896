// SPDX-License-Identifier: Apache-2.0
// Reads images of an ImageFolder when they are needed: file, crop, decode at the smallest size that
// has enough pixels, resize. All files stay on disk; a step's cost is its images' decoding.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/image_folder.hpp"
#include "models/data/image_source.hpp"
#include "models/data/jpeg.hpp"

namespace scalebench {

class JpegFolder {
 public:
  /// Throws UsageError as list_image_folder, when the build cannot decode JPEG, and when the model
  /// does not take 3 channels. The training split is cropped at random, by `seed`.
  JpegFolder(const std::filesystem::path& directory, Split split, const ImageShape& model,
             std::uint64_t seed, BadImages policy);

  const ImageFolder& list() const { return list_; }

  struct Read {
    std::int64_t label = 0;
    /// Another image took the place of one that cannot be decoded.
    bool replaced = false;
  };
  /// Writes image `index` as float32 (3, height, width) of the model in [-1, 1] to `pixels`,
  /// cropped as in `epoch`. Any number of threads may call it, each with a decoder of its own. An
  /// image that cannot be read or decoded is an UsageError with file and reason, or, with
  /// BadImages::skip, the next one that can takes its place.
  Read read(std::int64_t index, int epoch, JpegDecoder& decoder, std::span<float> pixels) const;

  /// One line for each file that was skipped since the last call.
  std::vector<std::string> take_warnings() const;

 private:
  void read_one(std::int64_t index, int epoch, JpegDecoder& decoder, std::span<float> pixels) const;
  bool known_bad(std::int64_t index) const;

  ImageFolder list_;
  Split split_;
  ImageShape model_;
  std::uint64_t seed_;
  BadImages policy_;
  /// What reading found out, for all threads.
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> bad_;
  mutable std::vector<std::string> warnings_;
};

// A JPEG folder as batches on the CPU: each call of at() decodes its images one after the other.

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
