// SPDX-License-Identifier: Apache-2.0
// input.hpp as the body of a kernel. A thread makes kWide numbers of the result at a time, which it
// writes at once; its neighbours read neighbouring bytes.
#pragma once

#include "kernels/layers/input.hpp"

namespace scalebench::body {

template <class T>
struct Gather {
  ImageGather gather;
  unsigned slices;

  std::size_t numbers;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const std::size_t threads = std::size_t{slices} * block.threads();
    auto* const y = static_cast<T*>(gather.y);
    std::size_t first = (std::size_t{block.slice()} * block.threads() + block.thread()) * kWide;
    for (; first < numbers; first += threads * kWide) {
      float values[kWide];
      const std::size_t some = numbers - first < kWide ? numbers - first : kWide;
      read(first, some, values);
      const Eight<T> narrow = block.template narrowed<T>(values);
      if (some == kWide) {
        block.put(y + first, narrow);
      } else {
        for (std::size_t i = 0; i < some; ++i) y[first + i] = narrow.lane[i];
      }
    }
  }

  /// Numbers first, first + 1, ... of the result; one division of each kind for all of them.
  SCALEBENCH_KERNEL void read(std::size_t first, std::size_t some, float (&values)[kWide]) const {
    const ImageExtent &has = gather.has, &wanted = gather.wanted;
    const std::size_t channels = wanted.channels + gather.padding;
    std::size_t channel = first % channels, pixel = first / channels;
    std::size_t column = pixel % wanted.width, row = pixel / wanted.width % wanted.height;
    std::size_t image = pixel / wanted.width / wanted.height;
    for (std::size_t i = 0; i < kWide; ++i) {
      const bool padding = i >= some || channel >= wanted.channels;
      values[i] = padding ? 0 : at(image, has.channels == 1 ? 0 : channel, row, column);
      if (++channel < channels) continue;
      channel = 0;
      if (++column < wanted.width) continue;
      column = 0;
      if (++row < wanted.height) continue;
      row = 0;
      ++image;
    }
  }

  SCALEBENCH_KERNEL float at(std::size_t image, std::size_t channel, std::size_t row,
                             std::size_t column) const {
    const ImageExtent &has = gather.has, &wanted = gather.wanted;
    // Below the margin they wrap round and are beyond the end.
    row -= (wanted.height - has.height) / 2;
    column -= (wanted.width - has.width) / 2;
    float byte = 0;
    if (row < has.height && column < has.width) {
      const auto which = static_cast<std::size_t>(gather.indices[image]);
      const std::size_t plane = which * has.channels + channel;
      byte = gather.images[(plane * has.height + row) * has.width + column];
    }
    return byte * static_cast<float>(2.0 / 255.0) - 1;
  }
};

/// `launch` as in norm_body.hpp.
template <class Launch>
void gather_images(const ImageGather& gather, unsigned slices, Launch launch) {
  const std::size_t numbers = gather.numbers();
  if (gather.dtype == DType::float32) {
    return launch(Gather<float>{gather, slices, numbers}, 1, slices);
  }
  launch(Gather<BFloat16>{gather, slices, numbers}, 1, slices);
}

}  // namespace scalebench::body
