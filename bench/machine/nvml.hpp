// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, loaded if the machine has it: no header and no library of a toolkit
// is needed to build this. Types and numbers are those of nvml.h, stable since version 4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scalebench {

// Why a card's clocks are where they are, from the driver's bits (nvmlClocksEventReason…).

/// "sw_power_cap;hw_thermal_slowdown", or "none".
std::string throttle_reasons(std::uint64_t bits);

/// Slower than its settings allow: by power, heat or the board. Idling, and clocks that somebody
/// has set, are no throttling.
bool is_throttled(std::uint64_t bits);

/// Of these, by power: the card's limit or the board's brake.
bool is_power_capped(std::uint64_t bits);

class Nvml {
 public:
  using Device = void*;  // null: none
  struct MemoryInfo {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };

  /// Loads and starts `library`; without it there are no devices.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// All cards with the driver's numbers, which CUDA_VISIBLE_DEVICES does not change.
  const std::vector<std::pair<int, Device>>& devices() const { return devices_; }
  /// The card of a UUID as CUDA or nvidia-smi writes it; of a MIG slice the card that it is cut of,
  /// which alone has clocks. Null when there is none.
  Device find(const std::string& uuid) const;

  /// NaN and empty: the card or its driver does not say.
  double busy_share(Device device) const;
  std::optional<MemoryInfo> memory(Device device) const;
  double watts(Device device) const;
  double clock_mhz(Device device) const;  // of the multiprocessors
  double celsius(Device device) const;
  /// Why the clocks are where they are, in the driver's bits.
  std::optional<std::uint64_t> clock_reasons(Device device) const;

 private:
  struct Utilization {
    unsigned gpu;
    unsigned memory;
  };
  template <class Function>
  void load(Function*& function, const char* name) const;

  void* handle_;
  int (*start_)() = nullptr;
  int (*stop_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Device*) = nullptr;
  int (*by_uuid_)(const char*, Device*) = nullptr;
  int (*card_of_slice_)(Device, Device*) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*memory_)(Device, MemoryInfo*) = nullptr;
  int (*power_)(Device, unsigned* milliwatts) = nullptr;
  int (*clock_)(Device, int of, unsigned* mhz) = nullptr;
  int (*temperature_)(Device, int of, unsigned* celsius) = nullptr;
  int (*reasons_)(Device, unsigned long long*) = nullptr;
  bool started_ = false;
  std::vector<std::pair<int, Device>> devices_;
};

}  // namespace scalebench
