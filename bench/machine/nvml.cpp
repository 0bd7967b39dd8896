// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <limits>
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

namespace {

constexpr int kSuccess = 0;
constexpr int kClockOfMultiprocessors = 1;
constexpr int kTemperatureOfGpu = 0;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What `call` writes behind its other arguments.
template <class Function, class... Arguments>
double number(Function* call, Arguments... arguments) {
  unsigned value = 0;
  const bool known = call != nullptr && call(arguments..., &value) == kSuccess;
  return known ? value : kUnknown;
}

}  // namespace

template <class Function>
void Nvml::load(Function*& function, const char* name) const {
  if (handle_ != nullptr) function = reinterpret_cast<Function*>(dlsym(handle_, name));
}

Nvml::Nvml(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  load(start_, "nvmlInit_v2");
  load(stop_, "nvmlShutdown");
  load(count_, "nvmlDeviceGetCount_v2");
  load(by_index_, "nvmlDeviceGetHandleByIndex_v2");
  load(by_uuid_, "nvmlDeviceGetHandleByUUID");
  load(card_of_slice_, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  load(utilization_, "nvmlDeviceGetUtilizationRates");
  load(memory_, "nvmlDeviceGetMemoryInfo");
  load(power_, "nvmlDeviceGetPowerUsage");
  load(clock_, "nvmlDeviceGetClockInfo");
  load(temperature_, "nvmlDeviceGetTemperature");
  // The same call under its new name and under that of drivers before 535.
  load(reasons_, "nvmlDeviceGetCurrentClocksEventReasons");
  if (reasons_ == nullptr) load(reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  started_ = start_ != nullptr && stop_ != nullptr && count_ != nullptr && by_index_ != nullptr &&
             start_() == kSuccess;
  unsigned number = 0;
  if (!started_ || count_(&number) != kSuccess) return;
  for (unsigned i = 0; i < number; ++i) {
    Device device = nullptr;
    if (by_index_(i, &device) == kSuccess) devices_.emplace_back(static_cast<int>(i), device);
  }
}

Nvml::~Nvml() {
  if (started_) stop_();
  if (handle_ != nullptr) dlclose(handle_);
}

Nvml::Device Nvml::find(const std::string& uuid) const {
  if (!started_ || by_uuid_ == nullptr || uuid.size() < 4) return nullptr;
  Device device = nullptr;
  if (by_uuid_(("GPU-" + uuid.substr(4)).c_str(), &device) == kSuccess) return device;
  if (by_uuid_(("MIG-" + uuid.substr(4)).c_str(), &device) != kSuccess) return nullptr;
  Device card = nullptr;
  if (card_of_slice_ == nullptr || card_of_slice_(device, &card) != kSuccess) return nullptr;
  return card;
}

double Nvml::busy_share(Device device) const {
  Utilization busy{};
  const bool known = utilization_ != nullptr && utilization_(device, &busy) == kSuccess;
  return known ? busy.gpu / 100.0 : kUnknown;
}

std::optional<Nvml::MemoryInfo> Nvml::memory(Device device) const {
  MemoryInfo memory{};
  if (memory_ == nullptr || memory_(device, &memory) != kSuccess) return {};
  return memory;
}

double Nvml::watts(Device device) const { return number(power_, device) / 1e3; }

double Nvml::clock_mhz(Device device) const {
  return number(clock_, device, kClockOfMultiprocessors);
}

double Nvml::celsius(Device device) const {
  return number(temperature_, device, kTemperatureOfGpu);
}

std::optional<std::uint64_t> Nvml::clock_reasons(Device device) const {
  unsigned long long bits = 0;
  if (reasons_ == nullptr || reasons_(device, &bits) != kSuccess) return {};
  return bits;
}

}  // namespace scalebench
