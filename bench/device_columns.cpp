// SPDX-License-Identifier: Apache-2.0
#include "bench/device_columns.hpp"

#include "bench/record/clock_reasons.hpp"

namespace scalebench {

void set_spell(ResultRow& sample, const DeviceSpell& spell) {
  sample.set("sm_clock_mhz", spell.clock_mhz);
  if (!spell.reasons) return;
  sample.set("throttle_reasons", throttle_reasons(*spell.reasons));
  sample.set("throttled", is_throttled(*spell.reasons) ? 1 : 0);
}

void set_spells(ResultRow& row, std::span<const DeviceSpell> repetitions) {
  const DeviceSummary summary = summary_of(repetitions);
  row.set("sm_clock_mhz", summary.clock_mhz).set("throttled_share", summary.throttled_share);
  row.set("power_capped_share", summary.power_capped_share).set("gpu_watts", summary.watts);
  row.set("gpu_celsius", summary.celsius);
}

}  // namespace scalebench
