// SPDX-License-Identifier: Apache-2.0
#include "bench/study/layout.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kMost = 65536;

int number_in(std::string_view word) {
  int number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end && number <= kMost ? number : 0;
}

int hosts_with(int slots, const Hosts& hosts) {
  return static_cast<int>(
      std::ranges::count_if(hosts, [&](const Host& host) { return host.slots >= slots; }));
}

int most_slots(const Hosts& hosts) { return std::ranges::max(hosts, {}, &Host::slots).slots; }

}  // namespace

std::string layout_words(const Layout& layout) {
  return fmt::format("{}x{}", layout.nodes, layout.per_node);
}

std::vector<Layout> parse_layouts(std::string_view words, std::string_view source) {
  std::set<Layout> layouts;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    const std::size_t cross = word.find('x');
    const Layout layout{number_in(word.substr(0, cross)),
                        cross < word.size() ? number_in(word.substr(cross + 1)) : 0};
    if (layout.nodes < 1 || layout.per_node < 1 || layout.nodes > kMost / layout.per_node) {
      fail<UsageError>("{}: '{}' is no layout; valid: hosts x ranks of each, as 1x1,1x2,2x2",
                       source, words);
    }
    layouts.insert(layout);
    begin = end + 1;
  }
  return {layouts.begin(), layouts.end()};
}

std::vector<int> powers_up_to(int most) {
  std::vector<int> powers;
  for (int n = 1; n < most; n *= 2) powers.push_back(n);
  powers.push_back(most);
  return powers;
}

std::vector<Layout> default_layouts(const Hosts& hosts) {
  std::set<Layout> layouts;
  for (const int per_node : powers_up_to(most_slots(hosts))) {
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
      "{} ranks do not fit evenly on {}; choose another number, name slots (host:{}), or use "
      "--oversubscribe",
      ranks, host_words(hosts), ranks);
}

Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe) {
  Hosts chosen;
  for (const Host& host : hosts) {
    const bool fits = oversubscribe || host.slots >= layout.per_node;
    if (fits && static_cast<int>(chosen.size()) < layout.nodes) chosen.push_back(host);
  }
  if (static_cast<int>(chosen.size()) == layout.nodes) return chosen;
  fail<UsageError>(
      "layout {} does not fit on {}: {} of {} hosts have {} slots; use fewer, or --oversubscribe, "
      "which marks every row emulated",
      layout_words(layout), host_words(hosts), chosen.size(), hosts.size(), layout.per_node);
}

std::string ranks_words(const std::string& ranks, const std::string& nodes) {
  const int n = number_in(ranks), k = number_in(nodes);
  if (k < 2) return ranks;
  return n % k == 0 ? layout_words({k, n / k}) : fmt::format("{} on {}", n, k);
}

}  // namespace scalebench
