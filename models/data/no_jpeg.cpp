// SPDX-License-Identifier: Apache-2.0
// Instead of jpeg.cpp in a build without libjpeg-turbo.
#include "kernels/error.hpp"
#include "models/data/picture.hpp"

namespace scalebench {

struct JpegDecoder::State {};

bool has_jpeg() { return false; }

JpegDecoder::JpegDecoder() {
  fail<Unavailable>(
      "this build cannot read JPEG: install libjpeg-turbo (Debian: libturbojpeg0-dev) and "
      "configure "
      "again");
}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::Size JpegDecoder::size(std::span<const std::uint8_t>) { return {}; }
void JpegDecoder::decode(std::span<const std::uint8_t>, int, Picture&) {}

}  // namespace scalebench
