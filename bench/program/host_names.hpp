// SPDX-License-Identifier: Apache-2.0
// What hosts are called in tables, so that each has a line of its own.
#pragma once

#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

/// By number of the host: what its ranks say, each the same.
std::vector<std::string> of_hosts(const Topology& topology,
                                  const std::vector<std::string>& of_ranks);

/// By number of the host: as its ranks call it. Containers may all have one name: the second of
/// them is "NAME-2", in the order of their ranks, as where processes meet without a launcher.
std::vector<std::string> host_names(const Topology& topology,
                                    const std::vector<std::string>& name_of_rank);

}  // namespace scalebench
