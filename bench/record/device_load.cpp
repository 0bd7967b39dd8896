// SPDX-License-Identifier: Apache-2.0
// Types and numbers are those of nvml.h, whose interface has been stable since version 4.
#include "bench/record/device_load.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace scalebench {
namespace {

using Device = void*;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr int kSuccess = 0;
constexpr int kClockOfMultiprocessors = 1;
constexpr int kTemperatureOfGpu = 0;

constexpr std::array kReasons{std::pair{0x1ULL, "gpu_idle"},
                              std::pair{0x2ULL, "applications_clocks_setting"},
                              std::pair{0x4ULL, "sw_power_cap"},
                              std::pair{0x8ULL, "hw_slowdown"},
                              std::pair{0x10ULL, "sync_boost"},
                              std::pair{0x20ULL, "sw_thermal_slowdown"},
                              std::pair{0x40ULL, "hw_thermal_slowdown"},
                              std::pair{0x80ULL, "hw_power_brake_slowdown"},
                              std::pair{0x100ULL, "display_clocks_setting"}};

}  // namespace

std::string throttle_reasons(unsigned long long bits) {
  std::string text;
  for (const auto& [bit, name] : kReasons) {
    if ((bits & bit) == 0) continue;
    text += text.empty() ? name : std::string(";") + name;
    bits &= ~bit;
  }
  if (bits != 0) text += text.empty() ? "other" : ";other";
  return text.empty() ? "none" : text;
}

struct DeviceLoadReader::Library {
  Library() : handle(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    find(start, "nvmlInit_v2");
    find(stop, "nvmlShutdown");
    find(count, "nvmlDeviceGetCount_v2");
    find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    started = start != nullptr && stop != nullptr && count != nullptr && by_index != nullptr &&
              start() == kSuccess;
    unsigned number = 0;
    if (!started || count(&number) != kSuccess) return;
    for (unsigned i = 0; i < number; ++i) {
      Device device = nullptr;
      if (by_index(i, &device) == kSuccess) devices.emplace_back(static_cast<int>(i), device);
    }
  }
  ~Library() {
    if (started) stop();
    if (handle != nullptr) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  void find(Function*& function, const char* name) const {
    if (handle != nullptr) function = reinterpret_cast<Function*>(dlsym(handle, name));
  }

  void* handle;
  int (*start)() = nullptr;
  int (*stop)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*power)(Device, unsigned* milliwatts) = nullptr;
  int (*clock)(Device, int of, unsigned* mhz) = nullptr;
  int (*temperature)(Device, int of, unsigned* celsius) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  bool started = false;
  std::vector<std::pair<int, Device>> devices;
};

DeviceLoadReader::DeviceLoadReader() : library_(std::make_unique<Library>()) {}
DeviceLoadReader::~DeviceLoadReader() = default;

std::vector<DeviceLoad> DeviceLoadReader::read() const {
  const Library& nvml = *library_;
  std::vector<DeviceLoad> loads;
  for (const auto& [index, device] : nvml.devices) {
    DeviceLoad& load = loads.emplace_back();
    load.device = index;
    Utilization busy{};
    if (nvml.utilization != nullptr && nvml.utilization(device, &busy) == kSuccess) {
      load.busy_share = busy.gpu / 100.0;
    }
    MemoryInfo memory{};
    if (nvml.memory != nullptr && nvml.memory(device, &memory) == kSuccess) {
      load.memory_used_bytes = static_cast<double>(memory.used);
      load.memory_bytes = static_cast<double>(memory.total);
    }
    unsigned value = 0;
    if (nvml.power != nullptr && nvml.power(device, &value) == kSuccess) load.watts = value / 1e3;
    if (nvml.clock != nullptr && nvml.clock(device, kClockOfMultiprocessors, &value) == kSuccess) {
      load.clock_mhz = value;
    }
    if (nvml.temperature != nullptr &&
        nvml.temperature(device, kTemperatureOfGpu, &value) == kSuccess) {
      load.celsius = value;
    }
    unsigned long long bits = 0;
    if (nvml.reasons != nullptr && nvml.reasons(device, &bits) == kSuccess) {
      load.throttle_reasons = throttle_reasons(bits);
    }
  }
  return loads;
}

}  // namespace scalebench
