// SPDX-License-Identifier: Apache-2.0
// Whether ranks have to share cores.
#pragma once

#include <utility>
#include <vector>

namespace scalebench {

/// A machine and a core of it, by numbers of the caller's.
using Core = std::pair<int, int>;

/// By rank: the cores that it may run on. Whether the ranks cannot all have one of their own at
/// once: a matching in a bipartite graph, grown by augmenting paths.
bool too_few_cores(const std::vector<std::vector<Core>>& cores);

}  // namespace scalebench
