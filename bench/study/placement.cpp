// SPDX-License-Identifier: Apache-2.0
#include "bench/study/placement.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace scalebench {
namespace {

/// What the asked hosts call themselves, by block; empty: not known.
std::vector<std::string> names_of(const PlannedLaunch& launch, const LaunchSettings& settings) {
  std::vector<std::string> names;
  for (const Host& host : hosts_of(launch, settings)) {
    const auto known = settings.host_names.find(host.name);
    if (known == settings.host_names.end()) return {};
    names.push_back(known->second);
  }
  return names;
}

}  // namespace

std::string misplaced(const std::vector<ResultRow>& rows, const PlannedLaunch& launch,
                      const LaunchSettings& settings) {
  const auto ranks = static_cast<std::size_t>(launch.ranks);
  if (rows.size() != ranks) {
    return fmt::format("{} ranks were asked for, {} took part", ranks, rows.size());
  }
  if (launch.nodes == 0) return {};
  const auto per_node = static_cast<std::size_t>(launch.per_node);
  std::vector<std::string> asked = names_of(launch, settings), found;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string& host = rows[rank].get("host");
    if (rank % per_node == 0) found.push_back(host);
    if (host == found.back()) continue;
    return fmt::format("rank {} ran on {}, but was asked to be on {} with rank {}", rank, host,
                       found.back(), rank - 1);
  }
  if (settings.launcher == "slurm") {
    std::ranges::sort(asked);
    std::ranges::sort(found);
  }
  if (asked.empty() || asked == found) return {};
  return fmt::format("the ranks ran on {}, but were asked to be on {}", fmt::join(found, ", "),
                     fmt::join(asked, ", "));
}

}  // namespace scalebench
