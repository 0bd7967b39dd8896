// SPDX-License-Identifier: Apache-2.0
// How much CPU time the control groups (version 1 or 2) leave to this process. A quota is invisible
// in every count of cores, and stops all ranks for the rest of each period once it is used up.
#pragma once

#include <filesystem>

#include "bench/record/facts.hpp"

namespace scalebench {

/// In cores: 2.5 is 250 ms of CPU time in 100 ms. The text "none" where no group sets a limit.
/// `root` is another folder than / in tests only.
Fact cpu_quota(const std::filesystem::path& root = "/");

}  // namespace scalebench
