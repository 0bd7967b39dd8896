// SPDX-License-Identifier: Apache-2.0
// Which of a host's devices its ranks train on, as the option --devices says.
#pragma once

#include <string>
#include <vector>

namespace scalebench {

/// "0,2" as numbers; none for an empty text. Throws UsageError for anything else, and for a device
/// that is named twice.
std::vector<int> parse_devices(const std::string& text);

/// The device of the rank that is number `local_rank` of the `local_size` on its host, where there
/// are `available` devices: the one of its number among `devices`, or among all when that is empty.
/// Throws UsageError when one is out of range or there are too few.
int device_of_rank(const std::vector<int>& devices, int local_rank, int local_size, int available);

}  // namespace scalebench
