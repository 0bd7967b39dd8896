// SPDX-License-Identifier: Apache-2.0
// What an epoch used of energy on all cards together, from begin to end, as the cards themselves
// count it from Volta on (nvmlDeviceGetTotalEnergyConsumption of nvml.h). Evaluation is no part of
// it, as of its time.
#pragma once

#include <optional>
#include <string>

#include "bench/machine/host_load.hpp"
#include "bench/program/devices.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

class EnergyAccount {
 public:
  /// `devices`: of all ranks; cards of which several ranks share are asked once. `library` is
  /// another than the driver's in tests only.
  EnergyAccount(Communicator& host, const RankDevices& devices,
                const std::string& library = "libnvidia-ml.so.1");

  void start() { before_ = nvml_.joules(card_); }
  /// Collective; once after each start(). Joules, the same on every rank; NaN where ranks have no
  /// cards or one of these does not count, since a sum over some is no sum. A slice of a card has
  /// no counter of its own: two ranks on two slices would count the whole card twice.
  double stop();

 private:
  Communicator& host_;
  const bool asks_;  // else another rank asks for this rank's card, or there is none
  Nvml nvml_;
  Nvml::Device card_ = nullptr;
  std::optional<double> before_;
};

}  // namespace scalebench
