// SPDX-License-Identifier: Apache-2.0
// The largest number of each window, forward and backward, with the channel as the fastest index.
// LibTorch keeps 8 bytes beside each result to find it again, and fills the gradient with zeros
// first; here it is one byte, and each gradient is gathered and written once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/layers/norm.hpp"

namespace scalebench {

/// Square windows at every second pixel of activations (images, height, width, channels): 2 x 2, or
/// 3 x 3 with a padding of 1, which counts as nothing.
struct PoolShape {
  std::size_t images = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  /// A multiple of kWide.
  std::size_t channels = 0;
  /// float32 or bfloat16.
  DType dtype = DType::float32;
  /// 2 or 3.
  std::size_t window = 2;

  static constexpr std::size_t stride = 2;
  constexpr std::size_t padding() const { return window - 2; }
  /// Of the result; a last window that would not fit is left out.
  constexpr std::size_t out_height() const {
    return (height + 2 * padding() - window) / stride + 1;
  }
  constexpr std::size_t out_width() const { return (width + 2 * padding() - window) / stride + 1; }
  std::size_t results() const { return images * out_height() * out_width() * channels; }
};

struct PoolForward {
  PoolShape shape;
  const void* x = nullptr;
  void* y = nullptr;
  /// For the backward pass, beside each result: its place in the window, row by row; of several
  /// the first, or what is not a number. Null: not wanted.
  std::uint8_t* places = nullptr;
};

struct PoolBackward {
  PoolShape shape;
  const void* y_gradient = nullptr;
  /// What else y was used for: added to y_gradient. Null: nothing else.
  const void* second_gradient = nullptr;
  const std::uint8_t* places = nullptr;
  void* x_gradient = nullptr;
};

/// Throws Error for what PoolShape does not allow.
void require_pool(const PoolShape& shape);

// On the host, and enqueued on the current device, as in norm.hpp.

void pool_forward(const PoolForward& layer, const Parallel& parallel);
void pool_backward(const PoolBackward& layer, const Parallel& parallel);

namespace device {
void pool_forward(const PoolForward& layer, DeviceStream stream);
void pool_backward(const PoolBackward& layer, DeviceStream stream);
}  // namespace device

}  // namespace scalebench
