// SPDX-License-Identifier: Apache-2.0
// By which two hosts can be told to be one machine, whatever they call themselves.
#pragma once

#include <fstream>
#include <string>

namespace scalebench {

/// The running kernel's (Linux: /proc/sys/kernel/random/boot_id); empty where it is hidden.
inline std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace scalebench
