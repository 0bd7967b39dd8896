// SPDX-License-Identifier: Apache-2.0
// Through the TurboJPEG interface, version 2 (also part of version 3).
#include <turbojpeg.h>

#include <cstddef>
#include <string>

#include "kernels/error.hpp"
#include "models/data/picture.hpp"

namespace scalebench {
namespace {

// Above this Pillow, which PyTorch reads images with, warns of a "decompression bomb". A header of
// some bytes can claim 12.9 GB; each thread that decodes may take as much as this one, 268 MB.
constexpr std::int64_t kMostPixels = (std::int64_t{1} << 30U) / 4 / 3;

struct Header {
  int width = 0;
  int height = 0;
  int colours = 0;
};

/// As Adobe's programs write CMYK: inverted, so that 255 is no ink.
void cmyk_to_rgb(std::span<const std::uint8_t> cmyk, std::vector<std::uint8_t>& rgb) {
  rgb.resize(cmyk.size() / 4 * 3);
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i) {
    const unsigned key = cmyk[4 * i + 3];
    for (std::size_t channel = 0; channel < 3; ++channel) {
      rgb[3 * i + channel] = static_cast<std::uint8_t>((cmyk[4 * i + channel] * key + 127U) / 255U);
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  State() : handle(started()) {}
  ~State() { tjDestroy(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static tjhandle started() {
    const tjhandle fresh = tjInitDecompress();
    if (fresh == nullptr) fail("libjpeg-turbo does not start: {}", tjGetErrorStr2(nullptr));
    return fresh;
  }

  Header header(std::span<const std::uint8_t> file) {
    Header read;
    int subsampling = 0;
    if (file.empty()) fail("the file is empty");
    if (file.size() < 2 || file[0] != 0xff || file[1] != 0xd8) {
      fail("not a JPEG (first bytes ff d8 expected, {:02x} {:02x} found)", file[0],
           file.size() < 2 ? 0 : file[1]);
    }
    if (tjDecompressHeader3(handle, file.data(), static_cast<unsigned long>(file.size()),
                            &read.width, &read.height, &subsampling, &read.colours) != 0) {
      refuse_unless_harmless();
    }
    if (read.width < 1 || read.height < 1) refuse("damaged JPEG: it ends within its header");
    if (std::int64_t{read.width} * read.height > kMostPixels) {
      refuse(fmt::format("{} x {} are {} pixels, expected at most {}; make it smaller", read.width,
                         read.height, std::int64_t{read.width} * read.height, kMostPixels));
    }
    return read;
  }

  void refuse_unless_harmless() {
    const std::string reason = tjGetErrorStr2(handle);
    const bool warning = tjGetErrorCode(handle) == TJERR_WARNING;
    if (warning && reason.find("extraneous bytes") != std::string::npos) return;
    refuse("damaged JPEG: " + reason);
  }

  /// Not with the same handle again: it remembers how far it came in the damaged file.
  [[noreturn]] void refuse(const std::string& reason) {
    const tjhandle fresh = started();
    tjDestroy(handle);
    handle = fresh;
    throw Error(reason);
  }

  tjhandle handle;
  std::vector<std::uint8_t> cmyk;
};

bool has_jpeg() { return true; }

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;

JpegDecoder::Size JpegDecoder::size(std::span<const std::uint8_t> file) {
  const Header header = state_->header(file);
  return {header.height, header.width};
}

void JpegDecoder::decode(std::span<const std::uint8_t> file, int divisor, Picture& picture) {
  const Header header = state_->header(file);
  const tjscalingfactor factor{1, divisor};
  picture.height = TJSCALED(header.height, factor);
  picture.width = TJSCALED(header.width, factor);
  const bool cmyk = header.colours == TJCS_CMYK || header.colours == TJCS_YCCK;
  std::vector<std::uint8_t>& target = cmyk ? state_->cmyk : picture.pixels;
  target.resize(static_cast<std::size_t>(picture.height) * static_cast<std::size_t>(picture.width) *
                (cmyk ? 4U : 3U));
  if (tjDecompress2(state_->handle, file.data(), static_cast<unsigned long>(file.size()),
                    target.data(), picture.width, 0, picture.height, cmyk ? TJPF_CMYK : TJPF_RGB,
                    0) != 0) {
    state_->refuse_unless_harmless();
  }
  if (cmyk) cmyk_to_rgb(target, picture.pixels);
}

}  // namespace scalebench
