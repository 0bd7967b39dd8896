// SPDX-License-Identifier: Apache-2.0
// Part of a picture to a model's input: bilinear, where pixels get fewer with a triangle as wide as
// the reduction, so that every source pixel counts (Pillow's "bilinear", torchvision's antialias).
// Phases: rows, then columns. Cost: about 2 * (out width * rows + out pixels) * 3 * taps flops.
#pragma once

#include <cstdint>
#include <span>

#include "models/data/jpeg.hpp"

namespace scalebench {

// Which part of an image a model sees, as in torchvision's ImageNet recipe: while training a random
// part of 8 to 100 % of the area with sides in a ratio of 3/4 to 4/3, mirrored every second time;
// while evaluating the middle, as if the shorter side were resized to 256 where the model takes
// 224. Source: torchvision.transforms.RandomResizedCrop and references/classification/presets.py.

/// In pixels of an image, from its upper left corner.
struct Crop {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
  bool mirrored = false;
};

/// Depends on nothing but its arguments: the same image is cropped differently in each epoch, and
/// alike on every rank and thread.
Crop training_crop(int height, int width, std::uint64_t seed, int epoch, std::int64_t image);

/// The largest part in the middle with the sides' ratio of the output, less 1/8.
Crop evaluation_crop(int height, int width, int out_height, int out_width);

/// Writes float32 (3, out_height, out_width) in [-1, 1] to `out`, which has exactly that size.
/// `crop` is in pixels of `picture`.
void resize(const Picture& picture, const Crop& crop, int out_height, int out_width,
            std::span<float> out);

}  // namespace scalebench
