// SPDX-License-Identifier: Apache-2.0
#include "bench/rank_spells.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kNumbers = 4;  // of a spell

}  // namespace

std::vector<std::vector<DeviceSpell>> all_spells(Communicator& host,
                                                 const std::vector<DeviceSpell>& mine) {
  const auto counts = all_gather(host, static_cast<double>(mine.size()));
  const auto most = static_cast<std::size_t>(std::ranges::max(counts));
  std::vector<std::vector<DeviceSpell>> by_rank(counts.size());
  if (most == 0) return by_rank;
  std::vector<double> numbers;
  for (const DeviceSpell& spell : mine) {
    // The driver's bits are few: a double holds them exactly.
    const double bits = spell.reasons ? static_cast<double>(*spell.reasons) : std::nan("");
    numbers.insert(numbers.end(), {spell.clock_mhz, spell.watts, spell.celsius, bits});
  }
  numbers.resize(most * kNumbers);
  const std::vector<double> all = all_gather(host, numbers);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(counts[rank]); ++i) {
      const double* values = &all[(rank * most + i) * kNumbers];
      DeviceSpell& spell = by_rank[rank].emplace_back();
      spell.clock_mhz = values[0];
      spell.watts = values[1];
      spell.celsius = values[2];
      if (!std::isnan(values[3])) spell.reasons = static_cast<std::uint64_t>(values[3]);
    }
  }
  return by_rank;
}

std::vector<DeviceSpell> worst_spells(Communicator& host, const std::vector<DeviceSpell>& mine) {
  const std::vector<std::vector<DeviceSpell>> by_rank = all_spells(host, mine);
  std::vector<DeviceSpell> worst;
  while (true) {
    std::vector<DeviceSpell> cards;
    for (const std::vector<DeviceSpell>& of_rank : by_rank) {
      if (worst.size() < of_rank.size()) cards.push_back(of_rank[worst.size()]);
    }
    if (cards.empty()) return worst;
    worst.push_back(worst_of(cards));
  }
}

}  // namespace scalebench
