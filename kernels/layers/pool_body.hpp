// SPDX-License-Identifier: Apache-2.0
// pool.hpp as bodies of kernels. A block takes whole rows of what it writes, so that only the place
// in a row costs a division; a thread takes kWide channels of a pixel.
#pragma once

#include "kernels/layers/norm_body.hpp"
#include "kernels/layers/pool.hpp"

namespace scalebench::body {

struct alignas(kWide) EightPlaces {
  std::uint8_t lane[kWide];
};

/// `use(image, row, column, channel)` of the places and the groups of channels that are a thread's,
/// of `rows` rows of `width` places in each image.
template <class Block, class Use>
SCALEBENCH_KERNEL void each_piece(const Block& block, const PoolShape& shape, unsigned slices,
                                  std::size_t rows, std::size_t width, Use use) {
  const auto groups = static_cast<unsigned>(shape.channels / kWide);
  const unsigned in_a_row = static_cast<unsigned>(width) * groups;
  for (std::size_t at = block.slice(); at < shape.images * rows; at += slices) {
    const std::size_t image = at / rows, row = at % rows;
    for (unsigned i = block.thread(); i < in_a_row; i += block.threads()) {
      use(image, row, i / groups, std::size_t{i % groups} * kWide);
    }
  }
}

/// Of windows of kSide x kSide.
template <class T, unsigned kSide>
struct LargestOfWindow {
  // Of bfloat16 all at once, of float32 as many as registers hold.
  static constexpr unsigned kAhead = kSide > 2 && sizeof(T) > 2 ? kSide : kSide* kSide;
  static constexpr unsigned kNone = ~0U;

  PoolShape shape;
  const T* x;
  T* y;
  std::uint8_t* places;
  unsigned slices;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const std::size_t rows = shape.out_height(), width = shape.out_width();
    each_piece(block, shape, slices, rows, width,
               [&](std::size_t image, std::size_t row, unsigned column, std::size_t channel) {
                 const std::size_t pixel = (image * rows + row) * width + column;
                 take(block, image, row, column, channel, pixel * shape.channels + channel);
               });
  }

  /// Pixel `place` of a window within its image, or kNone where that is in the padding.
  SCALEBENCH_KERNEL unsigned pixel_of(std::size_t row, unsigned column, unsigned place) const {
    // Above the edge they wrap round and are beyond the end.
    const std::size_t from = row * shape.stride + place / kSide - shape.padding();
    const std::size_t beside = column * shape.stride + place % kSide - shape.padding();
    const bool there = from < shape.height && beside < shape.width;
    return there ? static_cast<unsigned>(from * shape.width + beside) : kNone;
  }

  template <class Block>
  SCALEBENCH_KERNEL void take(Block& block, std::size_t image, std::size_t row, unsigned column,
                              std::size_t channel, std::size_t at) const {
    const T* const from = x + image * shape.height * shape.width * shape.channels + channel;
    float best[kWide] = {};
    EightPlaces place{};
    bool first = true;
    for (unsigned begin = 0; begin < kSide * kSide; begin += kAhead) {
      Eight<T> values[kAhead];
      unsigned pixel[kAhead];
      SCALEBENCH_UNROLL
      for (unsigned k = 0; k < kAhead; ++k) {
        pixel[k] = pixel_of(row, column, begin + k);
        values[k] = eight_at(from + (pixel[k] == kNone ? 0 : pixel[k] * shape.channels));
      }
      SCALEBENCH_UNROLL
      for (unsigned k = 0; k < kAhead; ++k) {
        if (pixel[k] == kNone) continue;
        keep_larger(values[k], begin + k, first, best, place);
        first = false;
      }
    }
    block.put(y + at, block.template narrowed<T>(best));
    if (places != nullptr) *reinterpret_cast<EightPlaces*>(places + at) = place;
  }

  SCALEBENCH_KERNEL static void keep_larger(const Eight<T>& values, unsigned here, bool first,
                                            float (&best)[kWide], EightPlaces& place) {
    for (unsigned k = 0; k < kWide; ++k) {
      const auto value = static_cast<float>(values.lane[k]);
      const bool larger = first || value > best[k] || value != value;
      best[k] = larger ? value : best[k];
      place.lane[k] = larger ? static_cast<std::uint8_t>(here) : place.lane[k];
    }
  }
};

/// What a window gives back: to which of its places, and how much. `kTwo`: the sum of two
/// gradients, rounded to T.
template <class T, bool kTwo>
struct WindowGradients {
  const T* gradient;
  const T* second;
  const std::uint8_t* places;

  struct Eights {
    float passed[kWide];
    EightPlaces place;
  };

  template <class Block>
  SCALEBENCH_KERNEL Eights at(Block& block, std::size_t at) const {
    Eights result;
    result.place = *reinterpret_cast<const EightPlaces*>(places + at);
    Eight<T> sum = eight_at(gradient + at);
    if constexpr (kTwo) {
      const Eight<T> more = eight_at(second + at);
      float both[kWide];
      for (unsigned k = 0; k < kWide; ++k) {
        both[k] = static_cast<float>(sum.lane[k]) + static_cast<float>(more.lane[k]);
      }
      sum = block.template narrowed<T>(both);
    }
    for (unsigned k = 0; k < kWide; ++k) result.passed[k] = static_cast<float>(sum.lane[k]);
    return result;
  }

  SCALEBENCH_KERNEL static void add(const Eights& window, unsigned place, float (&sum)[kWide]) {
    for (unsigned k = 0; k < kWide; ++k) {
      if (window.place.lane[k] == place) sum[k] += window.passed[k];
    }
  }
};

/// In cells of kStride x kStride pixels, which are in the same windows of kSide x kSide: to read a
/// window for each pixel would be most of the work.
template <class T, bool kTwo, unsigned kSide>
struct GradientOfCells {
  static constexpr unsigned kStride = PoolShape::stride;
  static constexpr unsigned kWindows = (kSide - 1) / kStride + 1;  // that a cell is in, each way

  PoolShape shape;
  WindowGradients<T, kTwo> windows;
  T* x_gradient;
  unsigned slices;

  /// Of an extent with its padding before it.
  SCALEBENCH_KERNEL static std::size_t cells(std::size_t extent, std::size_t padding) {
    return (extent + padding + kStride - 1) / kStride;
  }

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    each_piece(block, shape, slices, cells(shape.height, shape.padding()),
               cells(shape.width, shape.padding()),
               [&](std::size_t image, std::size_t row, unsigned column, std::size_t channel) {
                 float sum[kStride * kStride][kWide] = {};
                 add_windows(block, image, row, column, channel, sum);
                 put(block, image, row, column, channel, sum);
               });
  }

  template <class Block>
  SCALEBENCH_KERNEL void add_windows(Block& block, std::size_t image, std::size_t row,
                                     unsigned column, std::size_t channel,
                                     float (&sum)[kStride * kStride][kWide]) const {
    const std::size_t rows = shape.out_height(), width = shape.out_width();
    SCALEBENCH_UNROLL
    for (unsigned above = 0; above < kWindows; ++above) {
      SCALEBENCH_UNROLL
      for (unsigned before = 0; before < kWindows; ++before) {
        // Before the first they wrap round and are behind the last.
        const std::size_t i = row - above, j = column - std::size_t{before};
        if (i >= rows || j >= width) continue;
        const auto window =
            windows.at(block, ((image * rows + i) * width + j) * shape.channels + channel);
        SCALEBENCH_UNROLL
        for (unsigned pixel = 0; pixel < kStride * kStride; ++pixel) {
          const unsigned down = above * kStride + pixel / kStride;
          const unsigned across = before * kStride + pixel % kStride;
          if (down < kSide && across < kSide) {
            windows.add(window, down * kSide + across, sum[pixel]);
          }
        }
      }
    }
  }

  template <class Block>
  SCALEBENCH_KERNEL void put(Block& block, std::size_t image, std::size_t row, unsigned column,
                             std::size_t channel,
                             const float (&sum)[kStride * kStride][kWide]) const {
    SCALEBENCH_UNROLL
    for (unsigned pixel = 0; pixel < kStride * kStride; ++pixel) {
      const std::size_t down = row * kStride + pixel / kStride - shape.padding();
      const std::size_t across = column * std::size_t{kStride} + pixel % kStride - shape.padding();
      if (down >= shape.height || across >= shape.width) continue;
      const std::size_t at = (image * shape.height + down) * shape.width + across;
      block.put(x_gradient + at * shape.channels + channel, block.template narrowed<T>(sum[pixel]));
    }
  }
};

/// `launch` as in norm_body.hpp, with so many slices of rows.
template <class Launch>
void pool_forward(const PoolForward& layer, unsigned slices, Launch launch) {
  require_pool(layer.shape);
  const auto run = [&]<class T, unsigned kSide>() {
    launch(LargestOfWindow<T, kSide>{layer.shape, static_cast<const T*>(layer.x),
                                     static_cast<T*>(layer.y), layer.places, slices},
           1, slices);
  };
  const auto run_as = [&]<class T>() {
    if (layer.shape.window == 3) return run.template operator()<T, 3>();
    run.template operator()<T, 2>();
  };
  if (layer.shape.dtype == DType::float32) return run_as.template operator()<float>();
  run_as.template operator()<BFloat16>();
}

template <class Launch>
void pool_backward(const PoolBackward& layer, unsigned slices, Launch launch) {
  const PoolShape& shape = layer.shape;
  require_pool(shape);
  const auto run = [&]<class T, bool kTwo>() {
    const WindowGradients<T, kTwo> windows{static_cast<const T*>(layer.y_gradient),
                                           static_cast<const T*>(layer.second_gradient),
                                           layer.places};
    auto* const x_gradient = static_cast<T*>(layer.x_gradient);
    if (shape.window == 3) {
      return launch(GradientOfCells<T, kTwo, 3>{shape, windows, x_gradient, slices}, 1, slices);
    }
    launch(GradientOfCells<T, kTwo, 2>{shape, windows, x_gradient, slices}, 1, slices);
  };
  const bool two = layer.second_gradient != nullptr;
  if (shape.dtype == DType::float32) {
    return two ? run.template operator()<float, true>() : run.template operator()<float, false>();
  }
  two ? run.template operator()<BFloat16, true>() : run.template operator()<BFloat16, false>();
}

}  // namespace scalebench::body
