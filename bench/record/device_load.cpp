// SPDX-License-Identifier: Apache-2.0
#include "bench/record/device_load.hpp"

#include "bench/record/clock_reasons.hpp"

namespace scalebench {

std::vector<DeviceLoad> DeviceLoadReader::read() const {
  std::vector<DeviceLoad> loads;
  for (const auto& [index, device] : nvml_.devices()) {
    DeviceLoad& load = loads.emplace_back();
    load.device = index;
    load.busy_share = nvml_.busy_share(device);
    if (const auto memory = nvml_.memory(device)) {
      load.memory_used_bytes = static_cast<double>(memory->used);
      load.memory_bytes = static_cast<double>(memory->total);
    }
    load.watts = nvml_.watts(device);
    load.clock_mhz = nvml_.clock_mhz(device);
    load.celsius = nvml_.celsius(device);
    if (const auto bits = nvml_.clock_reasons(device)) {
      load.throttle_reasons = throttle_reasons(*bits);
    }
  }
  return loads;
}

}  // namespace scalebench
