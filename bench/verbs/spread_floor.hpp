// SPDX-License-Identifier: Apache-2.0
// How large a difference must be to count: 3 %, or what an A/A comparison on the same kind of
// machine shows between equal things, if that is more.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"

namespace scalebench {

struct SpreadFloor {
  double floor = 0;
  std::string from;  // in words, with the certificate's run; empty: the default
};

/// From the named runs of scalebench certify, each of which must be of a machine of one of the runs
/// (UsageError otherwise). With none named: from the newest beside the runs, for each machine.
SpreadFloor spread_floor(const std::vector<std::string>& certificates,
                         const std::vector<std::filesystem::path>& folders,
                         const std::vector<Manifest>& runs);

}  // namespace scalebench
