// SPDX-License-Identifier: Apache-2.0
#include "models/placement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/error.hpp"

namespace scalebench {

std::vector<int> placed_on_servers(std::span<const std::int64_t> sizes, int servers) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(servers));
  std::vector<int> server_of(sizes.size());
  for (const std::size_t variable : order) {
    const auto least = std::ranges::min_element(load);
    *least += sizes[variable];
    server_of[variable] = static_cast<int>(least - load.begin());
  }
  return server_of;
}

std::vector<std::size_t> cut_into_stages(std::span<const double> costs, int stages) {
  const std::size_t n = costs.size(), p = static_cast<std::size_t>(stages);
  if (n < p) {
    fail<UsageError>("a model of {} layers cannot be split over {} ranks; use at most {}", n, p, n);
  }
  // worst[k][i]: the costliest of k stages over the first i layers, cut in the best way.
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> worst(p + 1, std::vector<double>(n + 1, kImpossible));
  std::vector<std::vector<std::size_t>> begin(p + 1, std::vector<std::size_t>(n + 1));
  worst[0][0] = 0;
  for (std::size_t k = 1; k <= p; ++k) {
    for (std::size_t i = k; i <= n; ++i) {
      double last = 0;
      for (std::size_t first = i; first-- >= k;) {
        last += costs[first];
        const double candidate = std::max(worst[k - 1][first], last);
        if (candidate < worst[k][i]) {
          worst[k][i] = candidate;
          begin[k][i] = first;
        }
      }
    }
  }
  std::vector<std::size_t> cuts{n};
  for (std::size_t k = p; k > 0; --k) cuts.push_back(begin[k][cuts.back()]);
  std::ranges::reverse(cuts);
  return cuts;
}

}  // namespace scalebench
