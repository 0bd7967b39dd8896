// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/data/picture.hpp"
#include "models/data/sampler.hpp"

namespace scalebench {
namespace {

constexpr double kSmallestArea = 0.08;
constexpr double kNarrowest = 3.0 / 4.0;
constexpr double kWidest = 4.0 / 3.0;
constexpr int kAttempts = 10;
constexpr double kEvaluatedShare = 224.0 / 256.0;

class Draws {
 public:
  Draws(std::uint64_t seed, int epoch, std::int64_t image)
      : random_(SplitMix(SplitMix(seed).next() + static_cast<std::uint64_t>(epoch)).next() +
                static_cast<std::uint64_t>(image)) {}

  /// Uniform in [low, high).
  double uniform(double low, double high) {
    const double unit = static_cast<double>(random_.next() >> 11U) * 0x1p-53;
    return low + unit * (high - low);
  }
  /// A whole number, uniform from 0 to `most`.
  double whole(double most) { return std::floor(uniform(0, most + 1)); }

 private:
  SplitMix random_;
};

Crop middle(int height, int width, double crop_height, double crop_width) {
  return {(height - crop_height) / 2, (width - crop_width) / 2, crop_height, crop_width, false};
}

}  // namespace

Crop training_crop(int height, int width, std::uint64_t seed, int epoch, std::int64_t image) {
  Draws draws(seed, epoch, image);
  const bool mirrored = draws.uniform(0, 1) < 0.5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double area = draws.uniform(kSmallestArea, 1) * height * width;
    const double ratio = std::exp(draws.uniform(std::log(kNarrowest), std::log(kWidest)));
    const double crop_width = std::round(std::sqrt(area * ratio));
    const double crop_height = std::round(std::sqrt(area / ratio));
    if (crop_width < 1 || crop_height < 1 || crop_width > width || crop_height > height) continue;
    const double top = draws.whole(height - crop_height);
    return {top, draws.whole(width - crop_width), crop_height, crop_width, mirrored};
  }
  // So long or so high that no attempt fitted: the most of it that keeps the limits of the ratio.
  Crop crop = middle(height, width, std::min<double>(height, std::round(width / kNarrowest)),
                     std::min<double>(width, std::round(height * kWidest)));
  crop.mirrored = mirrored;
  return crop;
}

Crop evaluation_crop(int height, int width, int out_height, int out_width) {
  const double ratio = static_cast<double>(out_width) / out_height;
  const double crop_height = kEvaluatedShare * std::min<double>(height, width / ratio);
  return middle(height, width, crop_height, crop_height * ratio);
}

}  // namespace scalebench
