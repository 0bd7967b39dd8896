// SPDX-License-Identifier: Apache-2.0
// The transports of one start of bench_allreduce, side by side, each with its memory; or why one
// of them cannot work here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce_buffers.hpp"
#include "bench/allreduce_transport.hpp"

namespace scalebench {

struct LaunchTransport {
  std::string name;
  Memory memory = Memory::host;
  bool shares_devices = false;  // some device has several ranks: emulated
  std::string why_not;          // empty: it works
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<AllreduceBuffers> buffers;  // goes before the communicator
};

/// Collective, on those `devices`. In the plan's order; those that cannot work are left out unless
/// they were asked for by name.
std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const RankDevices& devices);

/// Collective: the window of each transport that works.
void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint);

}  // namespace scalebench
