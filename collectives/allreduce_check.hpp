// SPDX-License-Identifier: Apache-2.0
// Inputs whose sum is exact in every dtype and in every order, and differs if a rank is left out,
// added twice, or an element lands elsewhere: small integers that depend on rank and index.
#pragma once

#include <cstddef>

#include "kernels/span.hpp"

namespace scalebench {

/// Fills `data` (host) with rank's inputs: integers in [0, 16), distinct per rank and index.
void fill_inputs(Span data, int rank);

/// How many elements of `data` (host) differ from the sum over `ranks` ranks' inputs; up to 16
/// ranks are exact in bfloat16 (sums below 256), up to 128 in half; every count in the wider types.
std::size_t count_wrong(ConstSpan data, int ranks);

/// Overwrites `data` (host) with a value that no sum has, so that an output that was never written
/// is seen: NaN, or the lowest integer.
void poison(Span data);

}  // namespace scalebench
