// SPDX-License-Identifier: Apache-2.0
// What lies behind a convolution in as few passes over memory as its sums allow: batch
// normalisation with the addition and the ReLU that follow it, and a bias with its ReLU, forward
// and backward. In bfloat16 native batch normalisation, addition and ReLU move 26 to 32 bytes an
// element and step, these 16 to 20. Arithmetic is float32, rounded once; sums are taken in two
// stages whose order the grid fixes, so equal grids give equal bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/device.hpp"
#include "kernels/layers/grid.hpp"

namespace scalebench {

/// What follows the normalisation within the same pass.
enum class Tail : std::uint8_t { none, relu, add_relu };

/// y = tail((x - mean) / sqrt(variance + epsilon) * weight + bias), where mean and variance are
/// those of each channel of x, or what is running. All pointers are of one memory, activations at
/// multiples of 16 bytes.
struct NormForward {
  Activations shape;
  Tail tail = Tail::none;
  bool training = true;
  const void* x = nullptr;
  const void* beside = nullptr;  // added, of Tail::add_relu
  void* y = nullptr;
  /// Of Tail::add_relu, for the backward pass: bit i of byte j says whether element 8 j + i of y is
  /// positive; null: not wanted. Written and read they are a quarter of a byte an element, where
  /// reading y again would be two. Tail::relu needs none: the backward pass reads x in any case,
  /// which says it again.
  std::uint8_t* positive = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  /// As torch::nn::BatchNorm2d's, changed while training, with the unbiased variance.
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  std::int64_t* batches = nullptr;
  double momentum = 0.1;
  double epsilon = 1e-5;
  /// For the backward pass, kNormNumbers of each channel; made here.
  float* numbers = nullptr;
  float* scratch = nullptr;  // scratch_floats()
};

/// Rows of NormForward::numbers: mean, 1 / sqrt(variance + epsilon), the factor for x - mean, and
/// the term that is then added.
inline constexpr std::size_t kNormNumbers = 4;

/// The gradients of NormForward's result, from that of y.
struct NormBackward {
  Activations shape;
  Tail tail = Tail::none;
  bool training = true;
  const void* y_gradient = nullptr;
  /// What else y was used for, of Tail::add_relu: added to y_gradient, as a pass of its own would
  /// that moves four bytes more an element in bfloat16. Null: nothing else.
  const void* second_gradient = nullptr;
  const void* x = nullptr;
  const std::uint8_t* positive = nullptr;
  const float* numbers = nullptr;
  void* beside_gradient = nullptr;  // of Tail::add_relu
  void* x_gradient = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
  float* scratch = nullptr;
};

/// y = relu(x + bias); x and y may be the same.
struct BiasForward {
  Activations shape;
  const void* x = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;
  std::uint8_t* positive = nullptr;
};

struct BiasBackward {
  Activations shape;
  const void* y_gradient = nullptr;
  const std::uint8_t* positive = nullptr;
  void* x_gradient = nullptr;
  float* bias_gradient = nullptr;
  float* scratch = nullptr;
};

/// Throws Error for numbers of channels and dtypes that Activations does not allow.
void require_layer(const Activations& shape);

/// Floats that NormForward, NormBackward and BiasBackward need besides.
inline std::size_t scratch_floats(const Activations& shape, const Grid& grid) {
  return (std::size_t{2} * grid.slices + 2) * shape.channels;
}

// On the host, where one thread is a block. `parallel(n, f)` calls f(0) to f(n - 1), in any order
// and by any thread. The grid is the same whatever the number of threads, and so are the bits.

using Parallel = std::function<void(unsigned count, const std::function<void(unsigned)>& piece)>;

Grid host_grid(const Activations& shape);
void norm_forward(const NormForward& layer, const Grid& grid, const Parallel& parallel);
void norm_backward(const NormBackward& layer, const Grid& grid, const Parallel& parallel);
void bias_forward(const BiasForward& layer, const Grid& grid, const Parallel& parallel);
void bias_backward(const BiasBackward& layer, const Grid& grid, const Parallel& parallel);

// On the current device, enqueued. Throws Unavailable in a build without CUDA.

namespace device {

/// Fills the device's processors.
Grid layer_grid(const Activations& shape);
void norm_forward(const NormForward& layer, const Grid& grid, DeviceStream stream);
void norm_backward(const NormBackward& layer, const Grid& grid, DeviceStream stream);
void bias_forward(const BiasForward& layer, const Grid& grid, DeviceStream stream);
void bias_backward(const BiasBackward& layer, const Grid& grid, DeviceStream stream);

}  // namespace device
}  // namespace scalebench
