// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_buckets.hpp"

#include <algorithm>

namespace scalebench {

std::vector<GradientBucket> buckets_of(const std::vector<FlatPlace>& places, std::size_t extent,
                                       std::size_t first_bytes, std::size_t bucket_bytes) {
  std::vector<GradientBucket> buckets;
  GradientBucket open;
  for (std::size_t left = places.size(); left > 0; --left) {
    open.parameters.push_back(left - 1);
    const std::size_t end = left > 1 ? places[left - 2].first : extent;
    open.count = end - open.first;
    const std::size_t limit = buckets.empty() ? std::min(first_bytes, bucket_bytes) : bucket_bytes;
    if (open.count * sizeof(float) < limit && left > 1) continue;
    buckets.push_back(std::move(open));
    open = {};
    open.first = end;
  }
  return buckets;
}

}  // namespace scalebench
