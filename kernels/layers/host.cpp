// SPDX-License-Identifier: Apache-2.0
// The bodies on the host: a block is one thread, slices are shared among the caller's threads, and
// a slice is so short that its tiles find it in the cache.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/error.hpp"
#include "kernels/layers/input_body.hpp"
#include "kernels/layers/norm_body.hpp"
#include "kernels/layers/pool_body.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kSliceBytes = std::size_t{256} << 10U;
constexpr std::size_t kMostSlices = 1024;

std::size_t slices_of(std::size_t bytes) {
  return std::clamp<std::size_t>(bytes / kSliceBytes, 1, kMostSlices);
}

auto launcher(const Parallel& parallel) {
  return [&parallel](const auto& body, unsigned tiles, unsigned slices) {
    parallel(slices, [&](unsigned slice) {
      for (unsigned tile = 0; tile < tiles; ++tile) {
        LoneBlock block(tile, slice);
        body(block);
      }
    });
  };
}

}  // namespace

void require_layer(const Activations& shape) {
  if (shape.channels == 0 || shape.channels % kWide != 0) {
    fail("{} channels: expected a multiple of {}", shape.channels, kWide);
  }
  if (shape.dtype != DType::float32 && shape.dtype != DType::bfloat16) {
    fail("activations of {}: expected float or bfloat16", name_of(shape.dtype));
  }
}

Grid host_grid(const Activations& shape) {
  const std::size_t slices = slices_of(shape.rows * shape.channels * size_of(shape.dtype));
  return grid_for(shape, 1, slices * (shape.channels / kWide));
}

void norm_forward(const NormForward& layer, const Grid& grid, const Parallel& parallel) {
  body::norm_forward(layer, grid, launcher(parallel));
}

void norm_backward(const NormBackward& layer, const Grid& grid, const Parallel& parallel) {
  body::norm_backward(layer, grid, launcher(parallel));
}

void bias_forward(const BiasForward& layer, const Grid& grid, const Parallel& parallel) {
  body::bias_forward(layer, grid, launcher(parallel));
}

void bias_backward(const BiasBackward& layer, const Grid& grid, const Parallel& parallel) {
  body::bias_backward(layer, grid, launcher(parallel));
}

void require_pool(const PoolShape& shape) {
  require_layer({0, shape.channels, shape.dtype});
  const bool known = shape.window == 2 || shape.window == 3;
  const std::size_t reach = known ? shape.window - 2 * shape.padding() : 0;
  if (!known || reach > shape.height || reach > shape.width) {
    fail("windows of {} over {} x {}: expected 2 or 3, and that one fits", shape.window,
         shape.height, shape.width);
  }
}

void pool_forward(const PoolForward& layer, const Parallel& parallel) {
  const std::size_t bytes = layer.shape.results() * size_of(layer.shape.dtype);
  body::pool_forward(layer, static_cast<unsigned>(slices_of(bytes)), launcher(parallel));
}

void pool_backward(const PoolBackward& layer, const Parallel& parallel) {
  const std::size_t bytes = layer.shape.results() * size_of(layer.shape.dtype);
  body::pool_backward(layer, static_cast<unsigned>(slices_of(bytes)), launcher(parallel));
}

void gather_images(const ImageGather& gather, const Parallel& parallel) {
  const std::size_t bytes = gather.numbers() * size_of(gather.dtype);
  body::gather_images(gather, static_cast<unsigned>(slices_of(bytes)), launcher(parallel));
}

}  // namespace scalebench
