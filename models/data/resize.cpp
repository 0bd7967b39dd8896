// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

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

constexpr std::size_t kChannels = 3;

/// The source pixels that make one output pixel, along one side.
struct Taps {
  std::size_t first = 0;
  std::vector<float> weights;  // sum to 1
};

/// Of each of `out` pixels over [start, start + extent) of a side of `in` pixels. Nothing outside
/// that part is looked at.
std::vector<Taps> taps_of(double start, double extent, int in, int out) {
  const double scale = extent / out;
  const double support = std::max(scale, 1.0);
  const int lowest = std::clamp(static_cast<int>(std::floor(start)), 0, in - 1);
  const int highest = std::clamp(static_cast<int>(std::ceil(start + extent)), lowest + 1, in);
  std::vector<Taps> all(static_cast<std::size_t>(out));
  for (int i = 0; i < out; ++i) {
    const double centre = start + (i + 0.5) * scale;
    const int first =
        std::clamp(static_cast<int>(std::floor(centre - support + 0.5)), lowest, highest - 1);
    const int end =
        std::clamp(static_cast<int>(std::floor(centre + support + 0.5)), first + 1, highest);
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = static_cast<std::size_t>(first);
    double sum = 0;
    std::vector<double> weights;
    for (int j = first; j < end; ++j) {
      weights.push_back(std::max(0.0, 1.0 - std::abs(j + 0.5 - centre) / support));
      sum += weights.back();
    }
    for (const double weight : weights) {
      taps.weights.push_back(sum > 0 ? static_cast<float>(weight / sum)
                                     : 1.0F / static_cast<float>(weights.size()));
    }
  }
  return all;
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

void resize(const Picture& picture, const Crop& crop, int out_height, int out_width,
            std::span<float> out) {
  const std::vector<Taps> columns = taps_of(crop.left, crop.width, picture.width, out_width);
  const std::vector<Taps> rows = taps_of(crop.top, crop.height, picture.height, out_height);
  const std::size_t width = columns.size();
  const std::size_t first_row = rows.front().first;
  const std::size_t row_count = rows.back().first + rows.back().weights.size() - first_row;
  const auto stride = static_cast<std::size_t>(picture.width) * kChannels;

  // (row, channel, column), in the output's order of columns.
  std::vector<float> narrow(row_count * kChannels * width);
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::uint8_t* const source = picture.pixels.data() + (first_row + row) * stride;
    float* const target = narrow.data() + row * kChannels * width;
    for (std::size_t x = 0; x < width; ++x) {
      const Taps& taps = columns[x];
      const std::uint8_t* pixel = source + taps.first * kChannels;
      float red = 0, green = 0, blue = 0;
      for (const float weight : taps.weights) {
        red += weight * static_cast<float>(pixel[0]);
        green += weight * static_cast<float>(pixel[1]);
        blue += weight * static_cast<float>(pixel[2]);
        pixel += kChannels;
      }
      const std::size_t place = crop.mirrored ? width - 1 - x : x;
      target[place] = red;
      target[width + place] = green;
      target[2 * width + place] = blue;
    }
  }
  for (std::size_t y = 0; y < rows.size(); ++y) {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      float* const target = out.data() + (channel * rows.size() + y) * width;
      std::fill_n(target, width, -1.0F);
      for (std::size_t tap = 0; tap < rows[y].weights.size(); ++tap) {
        const float weight = rows[y].weights[tap] * (2.0F / 255.0F);
        const float* const source =
            narrow.data() + ((rows[y].first - first_row + tap) * kChannels + channel) * width;
        for (std::size_t x = 0; x < width; ++x) target[x] += weight * source[x];
      }
    }
  }
}

}  // namespace scalebench
