// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/energy.hpp"

#include <limits>

#include "collectives/control.hpp"

namespace scalebench {
namespace {

bool is_first_on_its_card(const RankDevices& devices, int rank) {
  for (int before = 0; before < rank; ++before) {
    if (devices.uuid_of(before) == devices.uuid_of(rank)) return false;
  }
  return devices.each();
}

}  // namespace

EnergyAccount::EnergyAccount(Communicator& host, const RankDevices& devices,
                             const std::string& library)
    : host_(host), asks_(is_first_on_its_card(devices, host.rank())), nvml_(asks_ ? library : "") {
  const Nvml::Found found = nvml_.find(devices.uuid_of(host.rank()));
  if (found.slice == nullptr) card_ = found.card;
}

double EnergyAccount::stop() {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const std::optional<double> now = nvml_.joules(card_);
  // A counter that went back began again: its driver was loaded anew.
  const bool counted = now && before_ && *now >= *before_;
  const double mine = counted ? *now - *before_ : kUnknown;
  double joules = 0;
  for (const double of_rank : all_gather(host_, asks_ ? mine : 0.0)) joules += of_rank;
  return joules > 0 ? joules : kUnknown;
}

}  // namespace scalebench
