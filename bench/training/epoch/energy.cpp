// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/energy.hpp"

#include <cmath>
#include <optional>

#include "bench/machine/identity.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

std::string card_asked_for(const RankDevices& devices, int rank) {
  const std::string uuid = devices.uuid_of(rank);
  for (int before = 0; before < rank; ++before) {
    if (devices.uuid_of(before) == uuid) return "";
  }
  return uuid;
}

}  // namespace

bool is_first_of_machine(int rank, const std::vector<int>& node_of_rank,
                         const std::vector<std::string>& boot_ids) {
  const auto mine = static_cast<std::size_t>(rank);
  for (std::size_t before = 0; before < mine; ++before) {
    const bool is_same_machine = !boot_ids[mine].empty() && boot_ids[before] == boot_ids[mine];
    if (is_same_machine || node_of_rank[before] == node_of_rank[mine]) return false;
  }
  return true;
}

EpochEnergy sum_of(const CountedJoules& hosts, const CountedJoules& cards) {
  if (std::isnan(hosts.joules)) {
    if (!(cards.joules > 0)) return {};
    return {cards.joules, "joules without hosts: " + hosts.why};
  }
  if (std::isnan(cards.joules)) return {hosts.joules, "joules without cards: " + cards.why};
  return {hosts.joules + cards.joules};
}

EpochEnergy typical_energy(const std::vector<EpochEnergy>& epochs) {
  std::vector<double> joules;
  for (const EpochEnergy& epoch : epochs) {
    if (std::isnan(epoch.joules) || epoch.lacks != epochs.front().lacks) return {};
    joules.push_back(epoch.joules);
  }
  return {median_of(joules), epochs.front().lacks};
}

EnergyAccount::EnergyAccount(const Ranks& ranks, const RankDevices& devices)
    : ranks_(ranks),
      asks_host_(is_first_of_machine(ranks.host.rank(), ranks.host.topology().node_of_rank,
                                     all_gather(ranks.host, boot_id()))),
      card_(card_asked_for(devices, ranks.host.rank())),
      meter_(asks_host_, card_) {}

EpochEnergy EnergyAccount::stop() {
  const Energy mine = meter_.stop();
  const auto together = [&](bool asked, std::optional<double> joules, const std::string& why) {
    CountedJoules all;
    for (const double one : all_gather(ranks_.host, asked ? joules.value_or(std::nan("")) : 0.0)) {
      all.joules += one;
    }
    for (const std::string& one : all_gather(ranks_.host, asked ? why : std::string())) {
      if (all.why.empty()) all.why = one;
    }
    return all;
  };
  const CountedJoules hosts = together(asks_host_, mine.host_joules, mine.no_host);
  return sum_of(hosts, together(!card_.empty(), mine.card_joules, mine.no_card));
}

}  // namespace scalebench
