// SPDX-License-Identifier: Apache-2.0
// input.hpp as the body of a kernel. A thread makes kWide numbers of the result at a time, which it
// writes at once; its neighbours read neighbouring bytes.
#pragma once

#include "kernels/layers/input.hpp"

namespace scalebench::body {

/// The wanted image's number there, from the bytes that there are of image `which`.
SCALEBENCH_KERNEL float number_at(const ImageGather& gather, std::size_t which, std::size_t channel,
                                  std::size_t row, std::size_t column) {
  const ImageExtent &has = gather.has, &wanted = gather.wanted;
  // Below the margin they wrap round and are beyond the end.
  row -= (wanted.height - has.height) / 2;
  column -= (wanted.width - has.width) / 2;
  float byte = 0;
  if (row < has.height && column < has.width) {
    const std::size_t plane = which * has.channels + (has.channels == 1 ? 0 : channel);
    byte = gather.images[(plane * has.height + row) * has.width + column];
  }
  return byte * static_cast<float>(2.0 / 255.0) - 1;
}

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
    const ImageExtent& wanted = gather.wanted;
    const std::size_t channels = wanted.channels + gather.padding();
    std::size_t channel = first % channels, pixel = first / channels;
    std::size_t column = pixel % wanted.width, row = pixel / wanted.width % wanted.height;
    std::size_t image = pixel / wanted.width / wanted.height;
    for (std::size_t i = 0; i < kWide; ++i) {
      const bool padding = i >= some || channel >= wanted.channels;
      values[i] = padding ? 0
                          : number_at(gather, static_cast<std::size_t>(gather.indices[image]),
                                      channel, row, column);
      if (++channel < channels) continue;
      channel = 0;
      if (++column < wanted.width) continue;
      column = 0;
      if (++row < wanted.height) continue;
      row = 0;
      ++image;
    }
  }
};

/// In blocks: a block of threads takes whole rows of them, a thread half a block, two pixels.
template <class T>
struct GatherBlocks {
  ImageGather gather;
  unsigned slices;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const std::size_t down = gather.blocks_down(), across = gather.blocks_across();
    auto* const y = static_cast<T*>(gather.y);
    for (std::size_t at = block.slice(); at < gather.count * down; at += slices) {
      const std::size_t above = at % down;
      const auto which = static_cast<std::size_t>(gather.indices[at / down]);
      for (std::size_t half = block.thread(); half < 2 * across; half += block.threads()) {
        // Before the margin's end they wrap round and are beyond the image.
        const std::size_t row = 2 * (above - kBlocksBefore) + half % 2;
        const std::size_t column = 2 * (half / 2 - kBlocksBefore);
        float values[kWide] = {};
        const bool inside = row < gather.wanted.height && column < gather.wanted.width;
        for (unsigned i = 0; i < kWide && inside; ++i) {
          if (i % 4 < 3) values[i] = number_at(gather, which, i % 4, row, column + i / 4);
        }
        block.put(y + at * across * kBlockChannels + half * kWide,
                  block.template narrowed<T>(values));
      }
    }
  }
};

/// `launch` as in norm_body.hpp.
template <class Launch>
void gather_images(const ImageGather& gather, unsigned slices, Launch launch) {
  const std::size_t numbers = gather.numbers();
  const auto run = [&]<class T>() {
    if (gather.layout == ImageLayout::blocks) {
      return launch(GatherBlocks<T>{gather, slices}, 1, slices);
    }
    launch(Gather<T>{gather, slices, numbers}, 1, slices);
  };
  if (gather.dtype == DType::float32) return run.template operator()<float>();
  run.template operator()<BFloat16>();
}

}  // namespace scalebench::body
