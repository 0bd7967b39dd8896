// SPDX-License-Identifier: Apache-2.0
// Two sums a channel over the rows of a layer's activations, in two stages whose order the grid
// fixes.
#pragma once

#include <cstddef>

#include "kernels/layers/grid.hpp"

namespace scalebench::body {

// Stage one of the sums: every thread adds up its rows, then the lines of a block are added in
// pairs. Stage two adds up what the slices have, kWide channels a block.

/// Afterwards the first line of the block's threads has the sums over all lines. Takes 2 * kWide
/// shared floats a thread.
template <class Block>
SCALEBENCH_KERNEL void add_lines(Block& block, const Grid& grid, float (&first)[kWide],
                                 float (&second)[kWide]) {
  float* const shared = block.shared();
  const unsigned thread = block.thread(), threads = block.threads(), lanes = grid.lanes;
  for (unsigned i = 0; i < kWide; ++i) {
    shared[i * threads + thread] = first[i];
    shared[(kWide + i) * threads + thread] = second[i];
  }
  block.barrier();
  for (unsigned lines = threads / lanes; lines > 1;) {
    const unsigned half = (lines + 1) / 2;
    if (thread / lanes + half < lines) {
      for (unsigned i = 0; i < 2 * kWide; ++i) {
        shared[i * threads + thread] += shared[i * threads + thread + half * lanes];
      }
    }
    block.barrier();
    lines = half;
  }
  for (unsigned i = 0; i < kWide; ++i) {
    first[i] = shared[i * threads + thread];
    second[i] = shared[(kWide + i) * threads + thread];
  }
}

/// What the slices have of two sums a channel: of slice s the first at 2 s channels.
template <class Block>
SCALEBENCH_KERNEL void put_partial(Block& block, const Activations& shape, const Grid& grid,
                                   const Share& share, float (&first)[kWide],
                                   float (&second)[kWide], float* partial) {
  add_lines(block, grid, first, second);
  if (block.thread() >= grid.lanes || !share.any) return;
  float* const to = partial + std::size_t{2} * block.slice() * shape.channels + share.channel;
  for (unsigned i = 0; i < kWide; ++i) {
    to[i] = first[i];
    to[shape.channels + i] = second[i];
  }
}

/// Takes 2 shared floats a thread.
struct Totals {
  bool any;  // false: not this thread
  std::size_t channel;
  float first;
  float second;
};

template <class Block>
SCALEBENCH_KERNEL Totals totals_of(Block& block, const float* partial, std::size_t channels,
                                   unsigned slices) {
  const unsigned threads = block.threads(), thread = block.thread();
  const unsigned columns = threads < kWide ? 1 : kWide;
  const std::size_t channel = std::size_t{block.tile()} * columns + thread % columns;
  const unsigned parts = threads / columns, part = thread / columns;
  float first = 0, second = 0;
  constexpr unsigned kAhead = 8;  // loads under way together, or their latency is all the time
  for (unsigned slice = part; slice < slices; slice += kAhead * parts) {
    float ahead[2 * kAhead];
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < kAhead; ++k) {
      const unsigned here = slice + k * parts;
      const float* const at = partial + std::size_t{2} * here * channels + channel;
      ahead[2 * k] = here < slices ? at[0] : 0;
      ahead[2 * k + 1] = here < slices ? at[channels] : 0;
    }
    SCALEBENCH_UNROLL
    for (unsigned k = 0; k < kAhead; ++k) {
      first += ahead[2 * k];
      second += ahead[2 * k + 1];
    }
  }
  float* const shared = block.shared();
  shared[thread] = first;
  shared[threads + thread] = second;
  block.barrier();
  for (unsigned left = parts; left > 1;) {
    const unsigned half = (left + 1) / 2;
    if (part + half < left) {
      shared[thread] += shared[thread + half * columns];
      shared[threads + thread] += shared[threads + thread + half * columns];
    }
    block.barrier();
    left = half;
  }
  return {part == 0, channel, shared[thread], shared[threads + thread]};
}

}  // namespace scalebench::body
