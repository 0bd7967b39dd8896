// SPDX-License-Identifier: Apache-2.0
// How long messages are cut for pipelines: a segment is what one rank combines while another is
// under way. 128 KiB of float stay in a core's second-level cache, and Open MPI's tcp is at its
// best up to there. Counted in elements, so that the cost is the same for all dtypes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "collectives/chunk.hpp"

namespace scalebench {

inline constexpr std::size_t kSegmentElements = std::size_t{32} * 1024;

constexpr std::size_t segments_of(std::size_t count) {
  return (count + kSegmentElements - 1) / kSegmentElements;
}

/// Segment `index` of a range; empty past its end.
constexpr Range segment_of(Range range, std::size_t index) {
  const std::size_t first = std::min(index * kSegmentElements, range.count);
  return {range.first + first, std::min(kSegmentElements, range.count - first)};
}

}  // namespace scalebench
