// SPDX-License-Identifier: Apache-2.0
// JPEG in memory to pixels, by libjpeg-turbo, and which part of a picture a model sees. A build
// without the library has no_jpeg.cpp instead of jpeg.cpp, where every call throws Unavailable.
// Large images can be decoded at a half, a quarter or an eighth of their size: the inverse cosine
// transform then works on fewer coefficients.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace scalebench {

/// 8-bit RGB, (height, width, 3), row-major.
struct Picture {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;
};

/// Whether this build can decode JPEG at all.
bool has_jpeg();

/// For one thread.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  struct Size {
    int height = 0;
    int width = 0;
  };
  /// Reads the header. Throws Error with the reason (without a file's name) when `file` is no JPEG
  /// or says that it has more than 89 478 485 pixels (268 MB once decoded).
  Size size(std::span<const std::uint8_t> file);

  /// The whole image, each side divided by `divisor` (1, 2, 4 or 8), rounded up. Grey and CMYK
  /// become RGB. Throws Error with the reason for damaged or truncated data; bytes too many between
  /// segments, which change no pixel, are accepted.
  void decode(std::span<const std::uint8_t> file, int divisor, Picture& picture);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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

}  // namespace scalebench
