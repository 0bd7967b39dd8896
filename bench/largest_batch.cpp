// SPDX-License-Identifier: Apache-2.0
#include "bench/largest_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scalebench {

BatchSearch largest_batch(std::int64_t first, std::int64_t most,
                          const std::function<bool(std::int64_t)>& fits) {
  constexpr std::int64_t kParts = 16;
  BatchSearch search;
  std::int64_t too_big = most + 1;
  const auto attempt = [&](std::int64_t batch) {
    const bool fit = fits(batch);
    search.tried += fmt::format("{}{}{}", search.tried.empty() ? "" : " ", batch, fit ? "" : "!");
    (fit ? search.largest : too_big) = batch;
    return fit;
  };
  std::int64_t batch = std::min(first, most);
  if (attempt(batch)) {
    while (batch < most && attempt(std::min(2 * batch, most))) batch = search.largest;
  } else {
    while (batch > 1 && !attempt(batch / 2)) batch = too_big;
  }
  const std::int64_t unit = std::max<std::int64_t>(1, search.largest / kParts);
  while (search.largest > 0 && too_big <= most && too_big - search.largest > unit) {
    const std::int64_t half = (too_big - search.largest) / 2;
    attempt(search.largest + std::max(unit, half / unit * unit));
  }
  search.all_fit = search.largest == most;
  return search;
}

}  // namespace scalebench
