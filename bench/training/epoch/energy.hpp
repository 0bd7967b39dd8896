// SPDX-License-Identifier: Apache-2.0
// What an epoch used of energy on all hosts and cards together, from begin to end; evaluation is
// no part of it, as of its time. A host's counter counts all of its cores, whoever works there.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/machine/energy.hpp"
#include "bench/program/program.hpp"
#include "bench/program/transports.hpp"

namespace scalebench {

/// The same on every rank.
struct EpochEnergy {
  double joules = std::numeric_limits<double>::quiet_NaN();
  /// What the joules are without, though it was asked for, and why; else empty.
  std::string lacks = {};
};

/// What the counters of hosts, or of cards, say on all ranks together: 0 where there are none, NaN
/// where one cannot be read, since a sum over some is no sum.
struct CountedJoules {
  double joules = 0;
  std::string why = {};  // one cannot be read
};

/// Whether `rank` asks for the joules of its machine: hosts of one boot id are one. By rank: the
/// host it is on, and its boot id; empty: hidden.
bool is_first_of_machine(int rank, const std::vector<int>& node_of_rank,
                         const std::vector<std::string>& boot_ids);

/// Hosts without a readable counter leave those of the cards, and cards without one those of the
/// hosts.
EpochEnergy sum_of(const CountedJoules& hosts, const CountedJoules& cards);

/// Median of epochs that all know it and lack the same; else unknown. At least one epoch.
EpochEnergy typical_energy(const std::vector<EpochEnergy>& epochs);

class EnergyAccount {
 public:
  /// Collective. `devices`: of these ranks; cards of which several ranks share are asked once.
  EnergyAccount(const Ranks& ranks, const RankDevices& devices);

  void start() { meter_.start(); }
  /// Collective; once after each start().
  EpochEnergy stop();

 private:
  const Ranks& ranks_;
  const bool asks_host_;
  const std::string card_;  // empty: another rank asks for it, or there is none
  EnergyMeter meter_;
};

}  // namespace scalebench
