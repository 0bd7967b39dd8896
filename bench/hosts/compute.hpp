// SPDX-License-Identifier: Apache-2.0
// How fast the processor of each host is for a rank: the same arithmetic on one rank of each host.
// A clock that was turned down, a limit of a control group, another program, or whatever stops the
// rank for a while: all of that takes longer. Hosts that are one machine take turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Collective over a host communicator; the same on all ranks: seconds of the same work, by host;
/// about 0.1 on a free core, of several turns the fastest. `machine_of_host`: hosts with equal
/// texts share their cores and take turns, several times each, so that what comes and goes meets
/// all of them; the others are at work at the same time. Ranks that are not at work sleep. `mark`
/// is called by each rank at work for every turn that has begun.
std::vector<double> probe_compute(Communicator& host,
                                  const std::vector<std::string>& machine_of_host,
                                  const std::function<void()>& mark);

}  // namespace scalebench
