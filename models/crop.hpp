// SPDX-License-Identifier: Apache-2.0
// Which part of an image a model sees, as in torchvision's ImageNet recipe: while training a random
// part of 8 to 100 % of the area with sides in a ratio of 3/4 to 4/3, mirrored every second time;
// while evaluating the middle, as if the shorter side were resized to 256 where the model takes
// 224. Source: torchvision.transforms.RandomResizedCrop and references/classification/presets.py.
#pragma once

#include <cstdint>

namespace scalebench {

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

}  // namespace scalebench
