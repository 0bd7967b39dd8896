// SPDX-License-Identifier: Apache-2.0
// The clock of every duration that is measured.
#pragma once

#include <chrono>

namespace scalebench {

/// Seconds of this host's monotonic clock.
inline double local_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace scalebench
