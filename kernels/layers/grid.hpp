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
/// the threads of a block `lanes` lie side by side, kWide channels each. Of several threads all
/// blocks go through the rows together, so that a device's cache has what was read last behind each
/// other. A lone thread has rows of its own, which a processor's cache keeps for the next tile.
struct Grid {
  unsigned threads = 1;
  unsigned lanes = 1;
  unsigned tiles = 1;
  unsigned slices = 1;

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
  grid.slices = static_cast<unsigned>(std::clamp<std::size_t>(blocks / grid.tiles, 1, most));
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

/// `count` rows `row`, row + step, ... and kWide channels from `channel`, of one thread.
struct Share {
  bool any;  // false: the thread has no channels, and no rows
  std::size_t channel;
  std::ptrdiff_t row;
  std::ptrdiff_t step;
  unsigned count;
};

template <class Block>
SCALEBENCH_KERNEL Share share_of(const Block& block, const Activations& shape, const Grid& grid) {
  const unsigned lane = block.thread() % grid.lanes, line = block.thread() / grid.lanes;
  const unsigned lines = grid.threads / grid.lanes;
  const std::size_t channel = (std::size_t{block.tile()} * grid.lanes + lane) * kWide;
  const bool any = line < lines && channel < shape.channels;
  if (grid.threads == 1) {
    const std::size_t most = (shape.rows + grid.slices - 1) / grid.slices;
    const std::size_t first = block.slice() * most;
    const std::size_t left = first < shape.rows ? shape.rows - first : 0;
    return {any, channel, static_cast<std::ptrdiff_t>(first), 1,
            static_cast<unsigned>(left < most ? left : most)};
  }
  const std::size_t first = std::size_t{block.slice()} * lines + line;
  const std::size_t step = std::size_t{grid.slices} * lines;
  const std::size_t count = first < shape.rows ? (shape.rows - first - 1) / step + 1 : 0;
  return {any, channel, static_cast<std::ptrdiff_t>(first), static_cast<std::ptrdiff_t>(step),
          static_cast<unsigned>(count)};
}

/// The last row first: what was written last is still in the cache.
SCALEBENCH_KERNEL Share backwards(const Share& share) {
  if (share.count == 0) return share;
  const std::ptrdiff_t last = share.row + std::ptrdiff_t{share.count - 1} * share.step;
  return {share.any, share.channel, last, -share.step, share.count};
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
  std::ptrdiff_t row = share.row;
  const auto further = [&](unsigned k) { return static_cast<std::size_t>(row + k * share.step); };
  unsigned left = share.count;
  for (; left >= Ahead; left -= Ahead, row += Ahead * share.step) {
    decltype(read(further(0))) held[Ahead];
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < Ahead; ++k) held[k] = read(further(k));
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < Ahead; ++k) use(further(k), held[k]);
  }
  for (; left > 0; --left, row += share.step) use(further(0), read(further(0)));
}

template <class T>
SCALEBENCH_KERNEL Eight<T> eight_at(const T* from) {
  return *reinterpret_cast<const Eight<T>*>(from);
}

}  // namespace scalebench
