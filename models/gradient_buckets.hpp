// SPDX-License-Identifier: Apache-2.0
// The flat gradient buffer of a replica cut into buckets that are reduced one by one, in the order
// in which a backward pass fills them.
#pragma once

#include <cstddef>
#include <vector>

namespace scalebench {

/// Elements of one parameter within the flat buffer, without the gap that follows.
struct FlatPlace {
  std::size_t first;
  std::size_t count;
};

/// Elements [first, first + count) of the flat buffer, with all gaps.
struct GradientBucket {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::size_t> parameters;  // by index, in the order of the buffer
};

/// `places` by index of the parameter, from the last to the first in the buffer of `extent` float32
/// elements. A bucket ends with the parameter that makes it `bucket_bytes` long, the first one at
/// `first_bytes` if that is less.
std::vector<GradientBucket> buckets_of(const std::vector<FlatPlace>& places, std::size_t extent,
                                       std::size_t first_bytes, std::size_t bucket_bytes);

}  // namespace scalebench
