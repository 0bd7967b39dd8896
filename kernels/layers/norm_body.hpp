// SPDX-License-Identifier: Apache-2.0
// norm.hpp as bodies of kernels and the order in which they run, for whoever can launch them: the
// device, the host, and a test that has a thread for each thread of a block. Passes take turns in
// the direction: sums go backwards over what was just written, the pass behind them forwards.
#pragma once

#include <cmath>

#include "kernels/layers/norm.hpp"
#include "kernels/layers/sums_body.hpp"

namespace scalebench::body {

/// Sums of x and of its square, both less the channel's first number, beside which the variance of
/// a channel far from zero keeps its digits.
template <class T>
struct StatisticsSums {
  static constexpr unsigned kSharedFloats = 2 * kWide;

  Activations shape;
  Grid grid;
  const T* x;
  float* partial;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const Share share = backwards(share_of(block, shape, grid));
    float sum[kWide] = {}, square[kWide] = {};
    if (share.any) {
      const Eight<T> first = eight_at(x + share.channel);
      each_row<rows_ahead<T>(1)>(
          share,
          [&](std::size_t row) { return eight_at(x + row * shape.channels + share.channel); },
          [&](std::size_t, const Eight<T>& values) {
            for (unsigned i = 0; i < kWide; ++i) {
              const float value =
                  static_cast<float>(values.lane[i]) - static_cast<float>(first.lane[i]);
              sum[i] += value;
              square[i] += value * value;
            }
          });
    }
    put_partial(block, shape, grid, share, sum, square, partial);
  }
};

/// NormForward::numbers of a channel, and its running statistics.
struct ChannelNumbers {
  NormForward layer;

  SCALEBENCH_KERNEL void write(std::size_t channel, double mean, double variance) const {
    const std::size_t channels = layer.shape.channels;
    const double root = 1 / std::sqrt(variance + layer.epsilon);
    layer.numbers[channel] = static_cast<float>(mean);
    layer.numbers[channels + channel] = static_cast<float>(root);
    layer.numbers[2 * channels + channel] = static_cast<float>(layer.weight[channel] * root);
    layer.numbers[3 * channels + channel] = layer.bias[channel];
  }
  SCALEBENCH_KERNEL void run_on(std::size_t channel, double mean, double variance) const {
    const auto count = static_cast<double>(layer.shape.rows);
    const auto towards = [&](float* running, double value) {
      *running = static_cast<float>((1 - layer.momentum) * *running + layer.momentum * value);
    };
    towards(layer.running_mean + channel, mean);
    towards(layer.running_variance + channel, variance * (count / (count - 1)));
    if (channel == 0) *layer.batches += 1;
  }
};

template <class T>
struct StatisticsOfBatch {
  static constexpr unsigned kSharedFloats = 2;

  ChannelNumbers numbers;
  const float* partial;
  unsigned slices;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const NormForward& layer = numbers.layer;
    const Totals totals = totals_of(block, partial, layer.shape.channels, slices);
    if (!totals.any) return;
    const auto count = static_cast<double>(layer.shape.rows);
    const auto first =
        static_cast<double>(static_cast<float>(static_cast<const T*>(layer.x)[totals.channel]));
    const double beyond = totals.first / count;
    const double variance = totals.second / count - beyond * beyond;
    const double positive = variance < 0 ? 0 : variance;
    numbers.write(totals.channel, first + beyond, positive);
    numbers.run_on(totals.channel, first + beyond, positive);
  }
};

struct StatisticsRunning {
  ChannelNumbers numbers;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const NormForward& layer = numbers.layer;
    const unsigned columns = block.threads() < kWide ? 1 : kWide;
    if (block.thread() >= columns) return;
    const std::size_t channel = std::size_t{block.tile()} * columns + block.thread();
    numbers.write(channel, layer.running_mean[channel], layer.running_variance[channel]);
  }
};

/// y = (x - mean) * scale + shift, then what the tail says. No numbers: x + shift. The mean comes
/// off first, so that channels far from zero keep their digits.
template <class T, Tail kTail>
struct Apply {
  Activations shape;
  Grid grid;
  const T* x;
  const T* beside;
  const float* numbers;
  const float* shift;
  T* y;
  std::uint8_t* positive;

  struct Held {
    Eight<T> x;
    Eight<T> beside;
  };

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const Share share = share_of(block, shape, grid);
    if (!share.any) return;
    float mean[kWide], scale[kWide], term[kWide];
    for (unsigned i = 0; i < kWide; ++i) {
      mean[i] = numbers == nullptr ? 0 : numbers[share.channel + i];
      scale[i] = numbers == nullptr ? 1 : numbers[2 * shape.channels + share.channel + i];
      term[i] = shift[share.channel + i];
    }
    each_row<rows_ahead<T>(kTail == Tail::add_relu ? 2 : 1)>(
        share,
        [&](std::size_t row) {
          const std::size_t at = row * shape.channels + share.channel;
          Held held;
          held.x = eight_at(x + at);
          if constexpr (kTail == Tail::add_relu) held.beside = eight_at(beside + at);
          return held;
        },
        [&](std::size_t row, const Held& held) {
          const std::size_t at = row * shape.channels + share.channel;
          float values[kWide];
          unsigned bits = 0;
          for (unsigned i = 0; i < kWide; ++i) {
            float value = (static_cast<float>(held.x.lane[i]) - mean[i]) * scale[i] + term[i];
            if constexpr (kTail == Tail::add_relu) {
              value += static_cast<float>(held.beside.lane[i]);
            }
            // What is not a number stays so, and has a gradient, as LibTorch's.
            const bool off = kTail != Tail::none && value <= 0;
            values[i] = off ? 0 : value;
            bits |= (off ? 0U : 1U) << i;
          }
          block.put(y + at, block.template narrowed<T>(values));
          if (positive != nullptr) positive[at / kWide] = static_cast<std::uint8_t>(bits);
        });
  }
};

/// How the backward pass knows where the ReLU was off.
enum class Mask : std::uint8_t {
  none,   // there was no ReLU
  again,  // (x - mean) * scale + shift says it again
  bits,   // NormForward::positive; what is left of the gradient is written, too
};

/// Sums of the gradient that the ReLU lets through, and of it times x - mean where there is an x.
/// `kTwo`: the gradient is the sum of two, rounded to T.
template <class T, Mask kMask, bool kTwo = false>
struct GradientSums {
  static constexpr unsigned kSharedFloats = 2 * kWide;

  Activations shape;
  Grid grid;
  const T* gradient;
  const T* second;
  const T* x;
  const std::uint8_t* positive;
  const float* numbers;
  T* left;  // of Mask::bits
  float* partial;

  struct Held {
    Eight<T> gradient;
    Eight<T> second;
    Eight<T> x;
    unsigned bits;
  };

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const Share share = backwards(share_of(block, shape, grid));
    float sum[kWide] = {}, product[kWide] = {};
    if (share.any) add_rows(block, share, sum, product);
    put_partial(block, shape, grid, share, sum, product, partial);
  }

  template <class Block>
  SCALEBENCH_KERNEL void add_rows(Block& block, const Share& share, float (&sum)[kWide],
                                  float (&product)[kWide]) const {
    // Known when compiled but for bits, or the one kernel that has the most to hold would spill.
    const bool has_x = kMask != Mask::bits || x != nullptr;
    float mean[kWide] = {}, scale[kWide] = {}, shift[kWide] = {};
    for (unsigned i = 0; i < kWide && has_x; ++i) {
      mean[i] = numbers[share.channel + i];
      scale[i] = numbers[2 * shape.channels + share.channel + i];
      shift[i] = numbers[3 * shape.channels + share.channel + i];
    }
    each_row<rows_ahead<T>(kTwo ? 3 : 2)>(
        share,
        [&](std::size_t row) {
          const std::size_t at = row * shape.channels + share.channel;
          Held held;
          held.gradient = eight_at(gradient + at);
          if constexpr (kTwo) held.second = eight_at(second + at);
          held.x = has_x ? eight_at(x + at) : Eight<T>{};
          if constexpr (kMask == Mask::bits) held.bits = positive[at / kWide];
          return held;
        },
        [&](std::size_t row, const Held& held) {
          Eight<T> through = held.gradient;
          if constexpr (kTwo) {
            float both[kWide];
            for (unsigned i = 0; i < kWide; ++i) {
              both[i] = static_cast<float>(held.gradient.lane[i]) +
                        static_cast<float>(held.second.lane[i]);
            }
            through = block.template narrowed<T>(both);
          }
          for (unsigned i = 0; i < kWide; ++i) {
            const float value = static_cast<float>(held.x.lane[i]) - mean[i];
            bool off = false;
            if constexpr (kMask == Mask::again) off = value * scale[i] + shift[i] <= 0;
            if constexpr (kMask == Mask::bits) off = (held.bits >> i & 1U) == 0;
            if (off) through.lane[i] = T{};
            const auto passed = static_cast<float>(through.lane[i]);
            sum[i] += passed;
            product[i] += passed * value;
          }
          if constexpr (kMask == Mask::bits) {
            block.put(left + row * shape.channels + share.channel, through);
          }
        });
  }
};

/// Gradients of weight and bias, and behind the partial sums two numbers a channel for
/// InputGradient: what it takes off the gradient, and off it for each unit of x - mean.
struct GradientTotals {
  static constexpr unsigned kSharedFloats = 2;

  std::size_t rows;
  std::size_t channels;
  unsigned slices;
  bool training;
  const float* numbers;  // null: of a bias alone
  float* partial;
  float* weight_gradient;
  float* bias_gradient;

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const Totals totals = totals_of(block, partial, channels, slices);
    if (!totals.any) return;
    const std::size_t channel = totals.channel;
    bias_gradient[channel] = totals.first;
    if (numbers == nullptr) return;
    const float root = numbers[channels + channel];
    weight_gradient[channel] = totals.second * root;
    const auto count = static_cast<double>(rows);
    float* const off = partial + std::size_t{2} * slices * channels + channel;
    // Running statistics do not move with x.
    off[0] = training ? static_cast<float>(totals.first / count) : 0;
    off[channels] =
        training ? static_cast<float>(static_cast<double>(root) * root * totals.second / count) : 0;
  }
};

template <class T, Mask kMask>
struct InputGradient {
  Activations shape;
  Grid grid;
  const T* gradient;
  const T* x;
  const float* numbers;
  const float* off;  // GradientTotals'
  T* x_gradient;

  struct Held {
    Eight<T> gradient;
    Eight<T> x;
  };

  template <class Block>
  SCALEBENCH_KERNEL void operator()(Block& block) const {
    const Share share = share_of(block, shape, grid);
    if (!share.any) return;
    float mean[kWide], scale[kWide], shift[kWide], level[kWide], slope[kWide];
    for (unsigned i = 0; i < kWide; ++i) {
      const std::size_t channel = share.channel + i;
      mean[i] = numbers[channel];
      scale[i] = numbers[2 * shape.channels + channel];
      shift[i] = numbers[3 * shape.channels + channel];
      level[i] = off[channel];
      slope[i] = off[shape.channels + channel];
    }
    each_row<rows_ahead<T>(2)>(
        share,
        [&](std::size_t row) {
          const std::size_t at = row * shape.channels + share.channel;
          return Held{eight_at(gradient + at), eight_at(x + at)};
        },
        [&](std::size_t row, const Held& held) {
          float values[kWide];
          for (unsigned i = 0; i < kWide; ++i) {
            const float value = static_cast<float>(held.x.lane[i]) - mean[i];
            const bool off_here = kMask == Mask::again && value * scale[i] + shift[i] <= 0;
            const float passed = off_here ? 0 : static_cast<float>(held.gradient.lane[i]);
            values[i] = scale[i] * (passed - level[i] - value * slope[i]);
          }
          block.put(x_gradient + row * shape.channels + share.channel,
                    block.template narrowed<T>(values));
        });
  }
};

// The order. `launch(body, tiles, slices)` runs body(block) of every thread of every block, of
// grid.threads threads each, after what was launched before.

template <class Function>
void with_activations(const Activations& shape, Function function) {
  require_layer(shape);
  if (shape.dtype == DType::float32) return function.template operator()<float>();
  function.template operator()<BFloat16>();
}

/// Blocks that have a channel for each of kWide threads, or for their only one.
inline unsigned channel_blocks(const Activations& shape, const Grid& grid) {
  return static_cast<unsigned>(shape.channels / (grid.threads < kWide ? 1 : kWide));
}

template <class Launch>
void norm_forward(const NormForward& layer, const Grid& grid, Launch launch) {
  const Activations& shape = layer.shape;
  with_activations(shape, [&]<class T>() {
    const auto* const x = static_cast<const T*>(layer.x);
    const unsigned channel_wise = channel_blocks(shape, grid);
    if (layer.training) {
      launch(StatisticsSums<T>{shape, grid, x, layer.scratch}, grid.tiles, grid.slices);
      launch(StatisticsOfBatch<T>{{layer}, layer.scratch, grid.slices}, channel_wise, 1);
    } else {
      launch(StatisticsRunning{{layer}}, channel_wise, 1);
    }
    const auto apply = [&]<Tail kTail>() {
      launch(Apply<T, kTail>{shape, grid, x, static_cast<const T*>(layer.beside), layer.numbers,
                             layer.numbers + 3 * shape.channels, static_cast<T*>(layer.y),
                             layer.positive},
             grid.tiles, grid.slices);
    };
    if (layer.tail == Tail::none) apply.template operator()<Tail::none>();
    if (layer.tail == Tail::relu) apply.template operator()<Tail::relu>();
    if (layer.tail == Tail::add_relu) apply.template operator()<Tail::add_relu>();
  });
}

template <class Launch>
void norm_backward(const NormBackward& layer, const Grid& grid, Launch launch) {
  const Activations& shape = layer.shape;
  with_activations(shape, [&]<class T>() {
    const auto* const y_gradient = static_cast<const T*>(layer.y_gradient);
    const auto* const x = static_cast<const T*>(layer.x);
    auto* const left = static_cast<T*>(layer.beside_gradient);
    const auto* const second = static_cast<const T*>(layer.second_gradient);
    const auto sums = [&]<Mask kMask, bool kTwo = false>() {
      launch(GradientSums<T, kMask, kTwo>{shape, grid, y_gradient, second, x, layer.positive,
                                          layer.numbers, left, layer.scratch},
             grid.tiles, grid.slices);
    };
    const float* const off = layer.scratch + std::size_t{2} * grid.slices * shape.channels;
    const auto to_input = [&]<Mask kMask>(const T* gradient) {
      launch(InputGradient<T, kMask>{shape, grid, gradient, x, layer.numbers, off,
                                     static_cast<T*>(layer.x_gradient)},
             grid.tiles, grid.slices);
    };
    if (layer.tail == Tail::none) sums.template operator()<Mask::none>();
    if (layer.tail == Tail::relu) sums.template operator()<Mask::again>();
    if (layer.tail == Tail::add_relu && second == nullptr) sums.template operator()<Mask::bits>();
    if (layer.tail == Tail::add_relu && second != nullptr) {
      sums.template operator()<Mask::bits, true>();
    }
    launch(GradientTotals{shape.rows, shape.channels, grid.slices, layer.training, layer.numbers,
                          layer.scratch, layer.weight_gradient, layer.bias_gradient},
           channel_blocks(shape, grid), 1);
    if (layer.tail == Tail::none) to_input.template operator()<Mask::none>(y_gradient);
    if (layer.tail == Tail::relu) to_input.template operator()<Mask::again>(y_gradient);
    if (layer.tail == Tail::add_relu) to_input.template operator()<Mask::none>(left);
  });
}

template <class Launch>
void bias_forward(const BiasForward& layer, const Grid& grid, Launch launch) {
  with_activations(layer.shape, [&]<class T>() {
    launch(Apply<T, Tail::relu>{layer.shape, grid, static_cast<const T*>(layer.x), nullptr, nullptr,
                                layer.bias, static_cast<T*>(layer.y), layer.positive},
           grid.tiles, grid.slices);
  });
}

template <class Launch>
void bias_backward(const BiasBackward& layer, const Grid& grid, Launch launch) {
  const Activations& shape = layer.shape;
  with_activations(shape, [&]<class T>() {
    launch(GradientSums<T, Mask::bits>{shape, grid, static_cast<const T*>(layer.y_gradient),
                                       nullptr, nullptr, layer.positive, nullptr,
                                       static_cast<T*>(layer.x_gradient), layer.scratch},
           grid.tiles, grid.slices);
    launch(GradientTotals{shape.rows, shape.channels, grid.slices, false, nullptr, layer.scratch,
                          nullptr, layer.bias_gradient},
           channel_blocks(shape, grid), 1);
  });
}

}  // namespace scalebench::body
