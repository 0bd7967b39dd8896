// SPDX-License-Identifier: Apache-2.0
// How busy, warm and hungry the GPUs of this machine are.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/record/nvml.hpp"

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
  /// One for each card; none without the driver's library. Never throws for a card that does not
  /// answer.
  std::vector<DeviceLoad> read() const;

 private:
  Nvml nvml_;
};

}  // namespace scalebench
