// SPDX-License-Identifier: Apache-2.0
#include "bench/record/clock_reasons.hpp"

#include <array>
#include <string_view>

namespace scalebench {
namespace {

enum class Slows { no, by_power, otherwise };

struct Reason {
  std::uint64_t bit;
  std::string_view name;
  Slows slows;
};

constexpr std::array kReasons{
    Reason{0x1, "gpu_idle", Slows::no},
    Reason{0x2, "applications_clocks_setting", Slows::no},
    Reason{0x4, "sw_power_cap", Slows::by_power},
    Reason{0x8, "hw_slowdown", Slows::otherwise},
    Reason{0x10, "sync_boost", Slows::no},
    Reason{0x20, "sw_thermal_slowdown", Slows::otherwise},
    Reason{0x40, "hw_thermal_slowdown", Slows::otherwise},
    Reason{0x80, "hw_power_brake_slowdown", Slows::by_power},
    Reason{0x100, "display_clocks_setting", Slows::no},
};

}  // namespace

std::string throttle_reasons(std::uint64_t bits) {
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    if (!text.empty()) text += ';';
    text += reason.name;
    bits &= ~reason.bit;
  }
  if (bits != 0) text += text.empty() ? "other" : ";other";
  return text.empty() ? "none" : text;
}

bool is_throttled(std::uint64_t bits) {
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0 && reason.slows != Slows::no) return true;
  }
  return false;
}

bool is_power_capped(std::uint64_t bits) {
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0 && reason.slows == Slows::by_power) return true;
  }
  return false;
}

}  // namespace scalebench
