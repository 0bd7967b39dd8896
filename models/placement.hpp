// SPDX-License-Identifier: Apache-2.0
// Which server holds which variable, and how layers become stages: work divided in whole pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scalebench {

/// The server of each variable: the largest first, each to the server that has least so far (of
/// equals the first one). TensorFlow's greedy load balancing. `servers` >= 1.
std::vector<int> placed_on_servers(std::span<const std::int64_t> sizes, int servers);

/// Cuts a chain of layers into `stages` runs, none empty, so that the most costly one is as cheap
/// as possible. Returns where each begins, and the end: stages + 1 numbers. Throws UsageError when
/// there are fewer layers than stages.
std::vector<std::size_t> cut_into_stages(std::span<const double> costs, int stages);

}  // namespace scalebench
