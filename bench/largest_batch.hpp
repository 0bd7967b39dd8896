// SPDX-License-Identifier: Apache-2.0
// The search for the largest batch that memory holds: doubling from a batch that is likely to fit,
// then bisection to a sixteenth, so that runs agree on it although free memory varies a little.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace scalebench {

struct BatchSearch {
  std::int64_t largest = 0;  // 0: not even one image fits
  bool all_fit = false;      // it is as large as the data set allows
  std::string tried;         // "32 64 128! 96 112!": in this order, ! did not fit
};

/// `fits` is asked of batches from 1 to `most`; whether memory holds one is taken to be monotone.
/// `first`: where to begin, at least 1.
BatchSearch largest_batch(std::int64_t first, std::int64_t most,
                          const std::function<bool(std::int64_t)>& fits);

}  // namespace scalebench
