// SPDX-License-Identifier: Apache-2.0
// How busy, warm and hungry the GPUs of this machine are, from NVIDIA's management library, which
// is loaded if the machine has it. No header and no library of a toolkit is needed to build this.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace scalebench {

/// NaN and empty text: the card or its driver does not say.
struct DeviceLoad {
  int device = 0;  // the driver's number, which CUDA_VISIBLE_DEVICES does not change
  double busy_share = std::numeric_limits<double>::quiet_NaN();
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();
  double memory_bytes = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // of the multiprocessors
  double celsius = std::numeric_limits<double>::quiet_NaN();
  std::string throttle_reasons = {};  // "none", or names joined by ;
};

class DeviceLoadReader {
 public:
  /// Loads the library; without it, or without a card, read() gives nothing.
  DeviceLoadReader();
  ~DeviceLoadReader();
  DeviceLoadReader(const DeviceLoadReader&) = delete;
  DeviceLoadReader& operator=(const DeviceLoadReader&) = delete;

  /// One for each card. Never throws for a card that does not answer.
  std::vector<DeviceLoad> read() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// What the driver's bits say: "sw_power_cap;hw_thermal_slowdown", or "none".
std::string throttle_reasons(unsigned long long bits);

}  // namespace scalebench
