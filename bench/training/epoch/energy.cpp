// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/energy.hpp"

#include <algorithm>
#include <cmath>

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

/// What some of the ranks were asked for: the sum, or why there is none. `asked` of nobody:
/// neither.
struct Part {
  double joules = std::nan("");
  std::string why;
};
Part part_of(const std::vector<RankEnergy>& ranks, bool RankEnergy::*asked,
             std::optional<double> Energy::*joules, std::string Energy::*why) {
  Part part;
  double sum = 0;
  bool any = false;
  for (const RankEnergy& rank : ranks) {
    if (!(rank.*asked)) continue;
    any = true;
    sum += (rank.energy.*joules).value_or(std::nan(""));
    if (part.why.empty()) part.why = rank.energy.*why;
  }
  if (any) part.joules = sum;
  return part;
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

EpochEnergy sum_of(const std::vector<RankEnergy>& ranks) {
  const Part hosts = part_of(ranks, &RankEnergy::host, &Energy::host_joules, &Energy::no_host);
  const Part cards = part_of(ranks, &RankEnergy::card, &Energy::card_joules, &Energy::no_card);
  if (std::isnan(hosts.joules) && std::isnan(cards.joules)) return {};
  if (std::isnan(hosts.joules)) return {cards.joules, "joules without hosts: " + hosts.why};
  if (!std::isnan(cards.joules)) return {hosts.joules + cards.joules};
  return {hosts.joules, cards.why.empty() ? "" : "joules without cards: " + cards.why};
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
  const auto number = [](bool asked) { return asked ? 1.0 : 0.0; };
  const auto asks_host = all_gather(ranks_.host, number(asks_host_));
  const auto asks_card = all_gather(ranks_.host, number(!card_.empty()));
  const auto host_joules = all_gather(ranks_.host, mine.host_joules.value_or(std::nan("")));
  const auto card_joules = all_gather(ranks_.host, mine.card_joules.value_or(std::nan("")));
  const auto no_host = all_gather(ranks_.host, mine.no_host);
  const auto no_card = all_gather(ranks_.host, mine.no_card);
  std::vector<RankEnergy> ranks;
  for (std::size_t rank = 0; rank < no_host.size(); ++rank) {
    ranks.push_back({asks_host[rank] != 0,
                     asks_card[rank] != 0,
                     {host_joules[rank], no_host[rank], card_joules[rank], no_card[rank]}});
  }
  return sum_of(ranks);
}

}  // namespace scalebench
