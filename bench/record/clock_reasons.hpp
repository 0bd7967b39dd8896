// SPDX-License-Identifier: Apache-2.0
// Why a card's clocks are where they are, from the driver's bits (nvmlClocksEventReason…).
#pragma once

#include <cstdint>
#include <string>

namespace scalebench {

/// "sw_power_cap;hw_thermal_slowdown", or "none".
std::string throttle_reasons(std::uint64_t bits);

/// Slower than its settings allow: by power, heat or the board. Idling, and clocks that somebody
/// has set, are no throttling.
bool is_throttled(std::uint64_t bits);

/// Of these, by power: the card's limit or the board's brake.
bool is_power_capped(std::uint64_t bits);

}  // namespace scalebench
