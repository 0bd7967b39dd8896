// SPDX-License-Identifier: Apache-2.0
// Which layouts of ranks on hosts a study measures.
#pragma once

#include <string_view>
#include <vector>

#include "bench/launch/hosts.hpp"

namespace scalebench {

/// "1x1,2x4" or one of them. Throws UsageError in one line that begins with `source`.
std::vector<Layout> parse_layouts(std::string_view words, std::string_view source = "--layouts");

/// 1x1, 1x2, ... 2x1, 2x2, ...: powers of two up to what the hosts' slots (all above 0) hold, and
/// the full ones.
std::vector<Layout> default_layouts(const Hosts& hosts);

/// N ranks on as few hosts as hold them evenly. Throws UsageError when none do; `oversubscribe`:
/// slots may be exceeded, by as little as possible.
Layout layout_of(int ranks, const Hosts& hosts, bool oversubscribe);

}  // namespace scalebench
