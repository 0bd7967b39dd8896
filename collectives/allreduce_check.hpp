// SPDX-License-Identifier: Apache-2.0
// Inputs whose reduction is known: small integers that differ by rank and by index, chosen so that
// every partial result is exact in every dtype, whatever the order. A rank that is missed, counted
// twice, swapped with another or shifted by one element is seen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/buffer.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {

/// Fills a host span with the inputs of `rank` among `ranks`; others with each seed.
void fill_inputs(Span data, int rank, int ranks, ReduceOp op, std::uint32_t seed = 0);

/// Elements of a host span that differ from the reduction over ranks 0..ranks-1 with that seed.
/// Exact, but for avg: there 2 units in the last place are allowed, as in nccl-tests, and less than
/// 1 in int32.
std::size_t count_wrong(ConstSpan data, int ranks, ReduceOp op, std::uint32_t seed = 0);

/// Overwrites every element by one that no reduction of inputs can be: NaN, or the lowest int32.
void poison(Span data);

}  // namespace scalebench
