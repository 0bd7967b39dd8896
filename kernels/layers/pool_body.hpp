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

/// `use(image, row, column, channel)` of the pixels and the groups of channels that are a thread's,
/// of `rows` rows of `width` pixels in each image.
template <class Block, class Use>
SCALEBENCH_KERNEL void each_pixel(const Block& block, const PoolShape& shape, unsigned slices,
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

/// `kSide`: of windows whose rows are read at once; 0: of any.
template <class T, unsigned kSide>
struct LargestOfWindow {
  PoolShape shape;
  const T* x;
  T* y;
  std::uint8_t* places;
  unsigned slices;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const std::size_t rows = shape.out_height(), width = shape.out_width();
    each_pixel(block, shape, slices, rows, width,
               [&](std::size_t image, std::size_t row, unsigned column, std::size_t channel) {
                 const std::size_t pixel = (image * rows + row) * width + column;
                 take(block, image, row, column, channel, pixel * shape.channels + channel);
               });
  }

  template <class Block>
  SCALEBENCH_KERNEL void take(Block& block, std::size_t image, std::size_t row, unsigned column,
                              std::size_t channel, std::size_t at) const {
    constexpr unsigned kAhead = kSide > 0 ? kSide : 1;
    const unsigned side = kSide > 0 ? kSide : static_cast<unsigned>(shape.window);
    float best[kWide] = {};
    EightPlaces place{};
    bool first = true;
    for (unsigned i = 0; i < side; ++i) {
      // Above the edge it wraps round and is beyond the end.
      const std::size_t from = row * shape.stride + i - shape.padding;
      if (from >= shape.height) continue;
      const std::size_t pixels = (image * shape.height + from) * shape.width;
      for (unsigned j = 0; j < side; j += kAhead) {
        Eight<T> values[kAhead];
        bool there[kAhead];
        SCALEBENCH_UNROLL
        for (unsigned k = 0; k < kAhead; ++k) {
          const std::size_t beside = column * shape.stride + j + k - shape.padding;
          there[k] = beside < shape.width;
          const std::size_t pixel = pixels + (there[k] ? beside : 0);
          values[k] = eight_at(x + pixel * shape.channels + channel);
        }
        SCALEBENCH_UNROLL
        for (unsigned k = 0; k < kAhead; ++k) {
          if (!there[k]) continue;
          keep_larger(values[k], i * side + j + k, first, best, place);
          first = false;
        }
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

/// `kTwo`: the gradient is the sum of two, rounded to T.
template <class T, bool kTwo>
struct GradientOfWindows {
  PoolShape shape;
  const T* gradient;
  const T* second;
  const std::uint8_t* places;
  T* x_gradient;
  unsigned slices;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    each_pixel(block, shape, slices, shape.height, shape.width,
               [&](std::size_t image, std::size_t row, unsigned column, std::size_t channel) {
                 float sum[kWide] = {};
                 add_windows(block, image, row, column, channel, sum);
                 const std::size_t pixel = (image * shape.height + row) * shape.width + column;
                 block.put(x_gradient + pixel * shape.channels + channel,
                           block.template narrowed<T>(sum));
               });
  }

  /// The first window that has this place of a row or column.
  SCALEBENCH_KERNEL unsigned first_of(unsigned place) const {
    const auto window = static_cast<unsigned>(shape.window);
    return place < window ? 0 : (place - window) / static_cast<unsigned>(shape.stride) + 1;
  }

  template <class Block>
  SCALEBENCH_KERNEL void add_windows(Block& block, std::size_t image, std::size_t row,
                                     unsigned column, std::size_t channel,
                                     float (&sum)[kWide]) const {
    const auto rows = static_cast<unsigned>(shape.out_height());
    const auto width = static_cast<unsigned>(shape.out_width());
    const auto stride = static_cast<unsigned>(shape.stride);
    const unsigned padded_row = static_cast<unsigned>(row + shape.padding);
    const unsigned padded_column = column + static_cast<unsigned>(shape.padding);
    for (unsigned i = first_of(padded_row); i < rows && i * stride <= padded_row; ++i) {
      const unsigned down = padded_row - i * stride;
      for (unsigned j = first_of(padded_column); j < width && j * stride <= padded_column; ++j) {
        const std::size_t at = ((image * rows + i) * width + j) * shape.channels + channel;
        const unsigned here =
            down * static_cast<unsigned>(shape.window) + padded_column - j * stride;
        add(block, at, static_cast<std::uint8_t>(here), sum);
      }
    }
  }

  template <class Block>
  SCALEBENCH_KERNEL void add(Block& block, std::size_t at, std::uint8_t here,
                             float (&sum)[kWide]) const {
    const EightPlaces place = *reinterpret_cast<const EightPlaces*>(places + at);
    Eight<T> passed = eight_at(gradient + at);
    if constexpr (kTwo) {
      const Eight<T> more = eight_at(second + at);
      float both[kWide];
      for (unsigned k = 0; k < kWide; ++k) {
        both[k] = static_cast<float>(passed.lane[k]) + static_cast<float>(more.lane[k]);
      }
      passed = block.template narrowed<T>(both);
    }
    for (unsigned k = 0; k < kWide; ++k) {
      if (place.lane[k] == here) sum[k] += static_cast<float>(passed.lane[k]);
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
    if (layer.shape.window == 2) return run.template operator()<T, 2>();
    run.template operator()<T, 0>();
  };
  if (layer.shape.dtype == DType::float32) return run_as.template operator()<float>();
  run_as.template operator()<BFloat16>();
}

template <class Launch>
void pool_backward(const PoolBackward& layer, unsigned slices, Launch launch) {
  require_pool(layer.shape);
  const auto run = [&]<class T, bool kTwo>() {
    launch(GradientOfWindows<T, kTwo>{layer.shape, static_cast<const T*>(layer.y_gradient),
                                      static_cast<const T*>(layer.second_gradient), layer.places,
                                      static_cast<T*>(layer.x_gradient), slices},
           1, slices);
  };
  const bool two = layer.second_gradient != nullptr;
  if (layer.shape.dtype == DType::float32) {
    return two ? run.template operator()<float, true>() : run.template operator()<float, false>();
  }
  two ? run.template operator()<BFloat16, true>() : run.template operator()<BFloat16, false>();
}

}  // namespace scalebench::body
