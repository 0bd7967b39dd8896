// SPDX-License-Identifier: Apache-2.0
// From the bytes of a data set in memory to the images of a batch, in one pass: gathered, with a
// margin of zeros, scaled to [-1, 1], a grey channel repeated, the channel as the fastest index.
// As a chain of tensor operations this is six passes, of which four are float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/layers/norm.hpp"

namespace scalebench {

/// How the first convolution of a network reads its images.
enum class ImageLayout : std::uint8_t {
  plain,
  /// Three channels with channels of zeros behind them, up to the 16 bytes that tensor cores read
  /// at once: cuDNN would pad them so in a pass of its own.
  padded,
  /// For a convolution of 7 x 7 at every second pixel: blocks of 2 x 2 pixels of four channels each
  /// are the channels of a pixel, with a margin of zeros, so that it becomes one of 4 x 4 at every
  /// block: 256 products where eight channels would make 392, of which 147 are not by zero. The
  /// field's name is space to depth; submissions to MLPerf take ResNet-50's first layer so.
  blocks
};

/// Channels of zeros behind three.
constexpr std::size_t padding_of(ImageLayout layout, std::size_t channels, DType dtype) {
  if (layout != ImageLayout::padded || channels != 3) return 0;
  return (dtype == DType::float32 ? 4 : 8) - channels;
}

/// Of ImageLayout::blocks: numbers of a block, and blocks of zeros above, below, left and right of
/// the image's.
inline constexpr std::size_t kBlockChannels = 16, kBlocksBefore = 2, kBlocksBehind = 1;

struct ImageExtent {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
};

/// y[n] is image `indices[n]`: bytes (channels, height, width) each of `has`, as (height, width,
/// channels + padding) of `wanted`, which is not smaller; one channel may become several. In
/// blocks: as (height / 2 + 3, width / 2 + 3, 2, 2, 4), where `wanted` has three channels and even
/// sides.
struct ImageGather {
  const std::uint8_t* images = nullptr;
  const std::int64_t* indices = nullptr;
  std::size_t count = 0;
  ImageExtent has;
  ImageExtent wanted;
  ImageLayout layout = ImageLayout::plain;
  void* y = nullptr;             // at a multiple of 16 bytes
  DType dtype = DType::float32;  // or bfloat16

  constexpr std::size_t padding() const { return padding_of(layout, wanted.channels, dtype); }
  constexpr std::size_t blocks_down() const {
    return wanted.height / 2 + kBlocksBefore + kBlocksBehind;
  }
  constexpr std::size_t blocks_across() const {
    return wanted.width / 2 + kBlocksBefore + kBlocksBehind;
  }
  constexpr std::size_t numbers() const {
    if (layout == ImageLayout::blocks) {
      return count * blocks_down() * blocks_across() * kBlockChannels;
    }
    return count * wanted.height * wanted.width * (wanted.channels + padding());
  }
};

void gather_images(const ImageGather& gather, const Parallel& parallel);

namespace device {
/// Enqueued on the current device. Throws Unavailable in a build without CUDA.
void gather_images(const ImageGather& gather, DeviceStream stream);
}  // namespace device

}  // namespace scalebench
