// SPDX-License-Identifier: Apache-2.0
// Class patterns plus noise from SplitMix64 (Steele, Lea, Flood 2014), eight noise bytes a draw:
// the whole set costs less than decompressing a real one.
#include <algorithm>
#include <cstddef>

#include "models/dataset.hpp"
#include "models/split_mix.hpp"

namespace scalebench {
namespace {

constexpr int kCell = 4;
constexpr int kClasses = 256;  // labels are bytes

/// Per class and pixel 48 (dark cell) or 80 (bright cell); noise adds 0 to 127, so that one pixel
/// says little and the whole image much.
std::vector<std::uint8_t> class_patterns(const ImageShape& shape, std::uint64_t seed) {
  std::vector<std::uint8_t> patterns;
  patterns.reserve(static_cast<std::size_t>(shape.classes * shape.pixels()));
  for (int label = 0; label < shape.classes; ++label) {
    for (int channel = 0; channel < shape.channels; ++channel) {
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) {
          const auto cell = static_cast<std::uint64_t>(
              ((label * shape.channels + channel) * shape.height + y / kCell) * shape.width +
              x / kCell);
          patterns.push_back((SplitMix(seed ^ (cell << 20U)).next() >> 63U) != 0U ? 80 : 48);
        }
      }
    }
  }
  return patterns;
}

}  // namespace

Dataset synthetic_dataset(std::int64_t count, Split split, const ImageShape& wanted,
                          std::uint64_t seed) {
  ImageShape shape = wanted;
  shape.classes = std::min(shape.classes, kClasses);
  const auto pixels = static_cast<std::size_t>(shape.pixels());
  const std::vector<std::uint8_t> patterns = class_patterns(shape, seed);
  Dataset set{"synthetic", shape, {}, {}};
  set.images.resize(static_cast<std::size_t>(count) * pixels);
  set.labels.resize(static_cast<std::size_t>(count));
  SplitMix random(seed + (split == Split::train ? 1U : 2U));
  std::uint8_t* image = set.images.data();
  for (std::uint8_t& label : set.labels) {
    label = static_cast<std::uint8_t>(random.next() % static_cast<std::uint64_t>(shape.classes));
    const std::uint8_t* pattern = patterns.data() + label * pixels;
    for (std::size_t first = 0; first < pixels; first += 8) {
      const std::uint64_t noise = random.next();
      for (std::size_t i = first; i < first + 8 && i < pixels; ++i) {
        image[i] = static_cast<std::uint8_t>(pattern[i] + ((noise >> (8 * (i - first))) & 127U));
      }
    }
    image += pixels;
  }
  return set;
}

}  // namespace scalebench
