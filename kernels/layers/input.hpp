// SPDX-License-Identifier: Apache-2.0
// From the bytes of a data set in memory to the images of a batch, in one pass: gathered, with a
// margin of zeros, scaled to [-1, 1], a grey channel repeated, the channel as the fastest index.
// As a chain of tensor operations this is six passes, of which four are float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/layers/norm.hpp"

namespace scalebench {

/// Channels of an image as tensor cores read them: three are padded to four, as NVIDIA's loader
/// pads them for its own ResNet-50 (DALI, pad_output). A convolution of three would have them
/// padded to as many in a pass of its own.
constexpr std::size_t padded_channels(std::size_t channels) { return channels == 3 ? 4 : channels; }

struct ImageExtent {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
};

/// y[n] is image `indices[n]`: bytes (channels, height, width) each of `has`, as (height, width,
/// channels + padding) of `wanted`, which is not smaller; one channel may become several.
struct ImageGather {
  const std::uint8_t* images = nullptr;
  const std::int64_t* indices = nullptr;
  std::size_t count = 0;
  ImageExtent has;
  ImageExtent wanted;
  /// Channels of zeros behind those that are wanted.
  std::size_t padding = 0;
  void* y = nullptr;             // at a multiple of 16 bytes
  DType dtype = DType::float32;  // or bfloat16

  std::size_t numbers() const {
    return count * wanted.height * wanted.width * (wanted.channels + padding);
  }
};

void gather_images(const ImageGather& gather, const Parallel& parallel);

namespace device {
/// Enqueued on the current device. Throws Unavailable in a build without CUDA.
void gather_images(const ImageGather& gather, DeviceStream stream);
}  // namespace device

}  // namespace scalebench
