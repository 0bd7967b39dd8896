// SPDX-License-Identifier: Apache-2.0
// JPEG in memory to pixels, by libjpeg-turbo. A build without it has no_jpeg.cpp instead of
// jpeg.cpp, where every call throws Unavailable. Large images can be decoded at a half, a quarter
// or an eighth of their size: the inverse cosine transform then works on fewer coefficients.
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
  /// or has more than 2^28 pixels.
  Size size(std::span<const std::uint8_t> file);

  /// The whole image, each side divided by `divisor` (1, 2, 4 or 8), rounded up. Grey and CMYK
  /// become RGB. Throws Error with the reason for damaged or truncated data; bytes too many between
  /// segments, which change no pixel, are accepted.
  void decode(std::span<const std::uint8_t> file, int divisor, Picture& picture);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scalebench
