// SPDX-License-Identifier: Apache-2.0
// The columns about cards that rows of several files have in common.
#pragma once

#include <span>

#include "bench/device_spell.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// Of samples.csv: sm_clock_mhz, throttle_reasons, throttled. What is unknown stays empty.
void set_spell(ResultRow& sample, const DeviceSpell& spell);

/// Of a case file: sm_clock_mhz, throttled_share, power_capped_share, gpu_watts, gpu_celsius.
void set_spells(ResultRow& row, std::span<const DeviceSpell> repetitions);

}  // namespace scalebench
