// SPDX-License-Identifier: Apache-2.0
// How N ranks lie on hosts: so many hosts with so many ranks each. The same N over two hosts is
// another machine than over one, and the two never share a cell.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/hosts.hpp"

namespace scalebench {

struct Layout {
  int nodes = 1;
  int per_node = 1;
  int ranks() const { return nodes * per_node; }
  auto operator<=>(const Layout&) const = default;
};

/// "2x4": 2 hosts with 4 ranks each.
std::string layout_words(const Layout& layout);
/// "1x1,2x4" or one of them. Throws UsageError in one line that begins with `source`.
std::vector<Layout> parse_layouts(std::string_view words, std::string_view source = "--layouts");

/// 1, 2, 4, ... and `most` itself.
std::vector<int> powers_up_to(int most);

/// 1x1, 1x2, ... 2x1, 2x2, ...: powers of two up to what the hosts' slots (all above 0) hold, and
/// the full ones.
std::vector<Layout> default_layouts(const Hosts& hosts);

/// N ranks on as few hosts as hold them evenly. Throws UsageError when none do; `oversubscribe`:
/// slots may be exceeded, by as little as possible.
Layout layout_of(int ranks, const Hosts& hosts, bool oversubscribe);

/// The hosts that a layout lies on: the first `nodes` that have the slots. Throws UsageError, in
/// one line, when there are too few; `oversubscribe`: slots do not count.
Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe);

/// "4", and "2x2" where ranks lie on several nodes (texts as in rows; an empty one is unknown).
std::string ranks_words(const std::string& ranks, const std::string& nodes);

}  // namespace scalebench
