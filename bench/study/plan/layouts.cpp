// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/layouts.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <string>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

int hosts_with(int slots, const Hosts& hosts) {
  return static_cast<int>(
      std::ranges::count_if(hosts, [&](const Host& host) { return host.slots >= slots; }));
}

/// 1, 2, 4, ... and `most` itself.
std::vector<int> powers_up_to(int most) {
  std::vector<int> powers;
  for (int n = 1; n < most; n *= 2) powers.push_back(n);
  powers.push_back(most);
  return powers;
}

}  // namespace

std::vector<Layout> parse_layouts(std::string_view words, std::string_view source) {
  std::set<Layout> layouts;
  for (const std::string& word : split_list(source, words)) {
    Layout layout;
    const bool is_read = RE2::FullMatch(word, R"((\d+)x(\d+))", &layout.nodes, &layout.per_node);
    if (!is_read || layout.nodes < 1 || layout.per_node < 1 ||
        layout.nodes > kMostSlots / layout.per_node) {
      fail<UsageError>("{}: '{}' is no layout; valid: hosts x ranks of each, as 1x1,1x2,2x2",
                       source, printable(word));
    }
    layouts.insert(layout);
  }
  return {layouts.begin(), layouts.end()};
}

std::vector<Layout> default_layouts(const Hosts& hosts) {
  std::set<Layout> layouts;
  const int most = std::ranges::max(hosts, {}, &Host::slots).slots;
  for (const int per_node : powers_up_to(most)) {
    for (const int nodes : powers_up_to(hosts_with(per_node, hosts))) {
      layouts.insert({nodes, per_node});
    }
  }
  // Where slots differ, the most that all hosts have.
  const int all = std::ranges::min(hosts, {}, &Host::slots).slots;
  layouts.insert({static_cast<int>(hosts.size()), all});
  return {layouts.begin(), layouts.end()};
}

Layout layout_of(int ranks, const Hosts& hosts, bool oversubscribe) {
  for (int nodes = 1; nodes <= static_cast<int>(hosts.size()); ++nodes) {
    const bool even = ranks % nodes == 0;
    if (even && hosts_with(ranks / nodes, hosts) >= nodes) return {nodes, ranks / nodes};
  }
  for (int nodes = static_cast<int>(hosts.size()); oversubscribe; --nodes) {
    if (ranks % nodes == 0) return {nodes, ranks / nodes};
  }
  fail<UsageError>(
      "{} ranks do not fit evenly on {}; use fewer, name slots (host:{}), or use --oversubscribe, "
      "which marks every row emulated",
      ranks, host_words(hosts), ranks);
}

}  // namespace scalebench
