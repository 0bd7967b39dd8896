// SPDX-License-Identifier: Apache-2.0
// Part of a picture to a model's input: bilinear, where pixels get fewer with a triangle as wide as
// the reduction, so that every source pixel counts (Pillow's "bilinear", torchvision's antialias).
// Phases: rows, then columns. Cost: about 2 * (out width * rows + out pixels) * 3 * taps flops.
#pragma once

#include <span>

#include "models/crop.hpp"
#include "models/jpeg.hpp"

namespace scalebench {

/// Writes float32 (3, out_height, out_width) in [-1, 1] to `out`, which has exactly that size.
/// `crop` is in pixels of `picture`.
void resize(const Picture& picture, const Crop& crop, int out_height, int out_width,
            std::span<float> out);

}  // namespace scalebench
