// SPDX-License-Identifier: Apache-2.0
// How the matrix of a layer's activations is cut over blocks of threads, on a device and on the
// host, and what a thread of such a block may do. The cut alone decides the order of sums.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/dtype.hpp"

// Bodies of kernels are one source: nvcc compiles them for the device, other compilers for the
// host.
#ifdef __CUDACC__
#define SCALEBENCH_KERNEL __device__ inline
#define SCALEBENCH_UNROLL _Pragma("unroll")  // or arrays that a loop indexes would not be registers
#else
#define SCALEBENCH_KERNEL inline
#define SCALEBENCH_UNROLL
#endif

namespace scalebench {

/// Channels that a thread takes at a time: 16 bytes of bfloat16.
inline constexpr unsigned kWide = 8;

/// The activations (n, height, width, channels) of a layer, without gaps: rows = n * height *
/// width.
struct Activations {
  std::size_t rows = 0;
  /// A multiple of kWide.
  std::size_t channels = 0;
  /// float32 or bfloat16.
  DType dtype = DType::float32;
};

/// `tiles` blocks lie side by side over the channels, `slices` above each other over the rows. Of
/// the threads of a block `lanes` lie side by side, kWide channels each.
struct Grid {
  unsigned threads = 1;
  unsigned lanes = 1;
  unsigned tiles = 1;
  unsigned slices = 1;
  std::size_t rows_per_slice = 1;

  unsigned lines() const { return threads / lanes; }
};

/// About `blocks` blocks of `threads` threads, fewer where the activations are few.
inline Grid grid_for(const Activations& shape, unsigned threads, std::size_t blocks) {
  constexpr std::size_t kMostLanes = 32;  // 512 bytes of bfloat16 beside each other
  const std::size_t groups = std::max<std::size_t>(1, shape.channels / kWide);
  Grid grid{.threads = threads};
  grid.lanes = static_cast<unsigned>(std::min<std::size_t>({groups, kMostLanes, threads}));
  grid.tiles = static_cast<unsigned>((groups + grid.lanes - 1) / grid.lanes);
  const std::size_t rows = std::max<std::size_t>(1, shape.rows);
  const std::size_t most = (rows + grid.lines() - 1) / grid.lines();
  const std::size_t slices = std::clamp<std::size_t>(blocks / grid.tiles, 1, most);
  grid.rows_per_slice = (rows + slices - 1) / slices;
  grid.slices = static_cast<unsigned>((rows + grid.rows_per_slice - 1) / grid.rows_per_slice);
  return grid;
}

/// Numbers beside each other that a thread reads or writes at once.
template <class T>
struct alignas(16) Eight {
  T lane[kWide];
};

// What a body is given as `block`, here that of a host where one thread is a whole block:
//   thread() of threads(), tile() and slice(): who it is
//   barrier(): waits for the other threads of the block
//   shared(): floats that these threads share, kSharedFloats of the body for each; none without it
//   put(to, values): writes them at once
//   narrowed<T>(values): values rounded to nearest even

template <class Body>
constexpr unsigned shared_floats() {
  if constexpr (requires { Body::kSharedFloats; }) return Body::kSharedFloats;
  return 0;
}

class LoneBlock {
 public:
  LoneBlock(unsigned tile, unsigned slice) : tile_(tile), slice_(slice) {}

  static unsigned thread() { return 0; }
  static unsigned threads() { return 1; }
  unsigned tile() const { return tile_; }
  unsigned slice() const { return slice_; }
  static void barrier() {}
  float* shared() { return shared_; }

  template <class T>
  static void put(T* to, const Eight<T>& values) {
    *reinterpret_cast<Eight<T>*>(to) = values;
  }
  template <class T>
  static Eight<T> narrowed(const float (&values)[kWide]) {
    Eight<T> result;
    for (unsigned i = 0; i < kWide; ++i) result.lane[i] = static_cast<T>(values[i]);
    return result;
  }

 private:
  unsigned tile_;
  unsigned slice_;
  float shared_[2 * kWide] = {};
};

/// The rows `row`, row + step, ... before `end` and kWide channels from `channel`, of one thread.
struct Share {
  bool any;  // false: the thread has no channels, and no rows
  std::size_t channel;
  std::size_t row;
  std::size_t step;
  std::size_t end;
};

template <class Block>
SCALEBENCH_KERNEL Share share_of(const Block& block, const Activations& shape, const Grid& grid) {
  const unsigned lane = block.thread() % grid.lanes, line = block.thread() / grid.lanes;
  const unsigned lines = grid.threads / grid.lanes;
  const std::size_t channel = (std::size_t{block.tile()} * grid.lanes + lane) * kWide;
  const std::size_t first = block.slice() * grid.rows_per_slice;
  const std::size_t behind = first + grid.rows_per_slice;
  const std::size_t end = behind < shape.rows ? behind : shape.rows;
  return {line < lines && channel < shape.channels, channel, first + line, lines, end};
}

/// Rows that a thread reads before it uses the first, kWide of T from each of so many arrays: 64
/// bytes under way a thread fill a device's memory, and more take its registers.
template <class T>
constexpr unsigned rows_ahead(unsigned arrays) {
  return std::max(1U, 64 / (static_cast<unsigned>(sizeof(Eight<T>)) * arrays));
}

/// `use(row, read(row))` of each row, in order; `Ahead` rows are read before the first is used, so
/// that their loads are under way together.
template <unsigned Ahead, class Read, class Use>
SCALEBENCH_KERNEL void each_row(const Share& share, Read read, Use use) {
  std::size_t row = share.row;
  for (; row + (Ahead - 1) * share.step < share.end; row += Ahead * share.step) {
    decltype(read(row)) held[Ahead];
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < Ahead; ++k) held[k] = read(row + k * share.step);
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < Ahead; ++k) use(row + k * share.step, held[k]);
  }
  for (; row < share.end; row += share.step) use(row, read(row));
}

template <class T>
SCALEBENCH_KERNEL Eight<T> eight_at(const T* from) {
  return *reinterpret_cast<const Eight<T>*>(from);
}

}  // namespace scalebench
