// SPDX-License-Identifier: Apache-2.0
#include "models/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace scalebench {
namespace {

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
