// SPDX-License-Identifier: Apache-2.0
// The wall clock, as a label only: it may step back, so nothing is ever measured with it.
#pragma once

#include <ctime>
#include <string>

namespace scalebench {

/// "2026-03-01T04:05:06Z", for a manifest.
std::string utc_label(std::time_t seconds_since_1970 = std::time(nullptr));

/// "20260301T040506Z", for a folder's name.
std::string utc_name(std::time_t seconds_since_1970 = std::time(nullptr));

}  // namespace scalebench
