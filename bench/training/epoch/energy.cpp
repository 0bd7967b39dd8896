// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collectives/control.hpp"

namespace scalebench {
namespace {

bool is_first_of_host(const Ranks& ranks) {
  const std::vector<int> nodes = ranks.host.topology().node_of_rank;
  const int mine = ranks.host.rank();
  const int node = nodes.at(static_cast<std::size_t>(mine));
  return std::ranges::find(nodes, node) - nodes.begin() == mine;
}

std::string card_asked_for(const RankDevices& devices, int rank) {
  const std::string uuid = devices.uuid_of(rank);
  for (int before = 0; before < rank; ++before) {
    if (devices.uuid_of(before) == uuid) return "";
  }
  return uuid;
}

/// Of those who were asked; NaN where one of them does not know, or nobody was.
double sum_of(const std::vector<double>& asked, const std::vector<double>& joules) {
  double sum = 0;
  bool any = false;
  for (std::size_t rank = 0; rank < asked.size(); ++rank) {
    if (asked[rank] == 0) continue;
    any = true;
    sum += joules[rank];
  }
  return any ? sum : std::nan("");
}

std::string first_of(const std::vector<std::string>& texts) {
  const auto found = std::ranges::find_if(texts, [](const auto& text) { return !text.empty(); });
  return found == texts.end() ? "" : *found;
}

}  // namespace

EnergyAccount::EnergyAccount(const Ranks& ranks, const RankDevices& devices)
    : ranks_(ranks),
      asks_host_(is_first_of_host(ranks)),
      card_(card_asked_for(devices, ranks.host.rank())),
      meter_(asks_host_, card_) {}

EpochEnergy EnergyAccount::stop() {
  const Energy mine = meter_.stop();
  const auto of = [&](bool asked, const std::optional<double>& joules) {
    return sum_of(all_gather(ranks_.host, asked ? 1.0 : 0.0),
                  all_gather(ranks_.host, joules.value_or(std::nan(""))));
  };
  const double hosts = of(asks_host_, mine.host_joules);
  const double cards = of(!card_.empty(), mine.card_joules);
  const std::string no_host = first_of(all_gather(ranks_.host, mine.no_host));
  const std::string no_card = first_of(all_gather(ranks_.host, mine.no_card));
  if (std::isnan(hosts) && std::isnan(cards)) {
    return {std::nan(""), fmt::format("none: {}", no_card.empty() ? no_host : no_card)};
  }
  if (std::isnan(cards)) return {hosts, "rapl"};
  if (std::isnan(hosts)) return {cards, "nvml"};
  return {hosts + cards, "rapl+nvml"};
}

}  // namespace scalebench
