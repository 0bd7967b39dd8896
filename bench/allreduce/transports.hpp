// SPDX-License-Identifier: Apache-2.0
// The transports of one start of bench_allreduce, side by side: which of them the command line
// means on these ranks, and each opened, with its memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/measure.hpp"

namespace scalebench {

struct TransportPlan {
  std::vector<std::string> names;
  bool by_name = true;  // false: of `auto`, and may be missing later
  Memory mpi_memory = Memory::host;
};

/// Collective. What is named, all, or `auto`: mpi and shared_memory on host memory, nccl and
/// cuda_ipc on devices, of which automatic memory takes the latter where each rank has one. Throws
/// JointRefusal where there are devices, but too few.
TransportPlan transport_plan(const Ranks& ranks, const AllreduceOptions& options,
                             const RankDevices& devices);

/// Where the plan moves buffers, in its order.
std::vector<AllreducePlace> places_of(const TransportPlan& plan, const AllreduceOptions& options);

/// One with its memory, or why it cannot work here.
struct LaunchTransport {
  AllreducePlace place;
  std::string registered;       // how NCCL was told of them; empty: no NCCL, or no buffers
  bool shares_devices = false;  // some device has several ranks: emulated
  std::string why_not;          // empty: it works
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<AllreduceBuffers> buffers;  // goes before the communicator
};

/// Collective, on those `devices`. In the plan's order, with NCCL one for each registration, on the
/// host in pages as any program has them; those that cannot work are left out unless they were
/// asked for by name. Throws JointRefusal for a registration where there is no NCCL to be told.
std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const AllreduceOptions& options,
                                             const RankDevices& devices);

/// Collective over all ranks, of which `host` is the communicator: the window of each transport
/// that works.
void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint,
              Communicator& host);

}  // namespace scalebench
