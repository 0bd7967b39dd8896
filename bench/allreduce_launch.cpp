// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_launch.hpp"

#include "kernels/error.hpp"

namespace scalebench {

std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const RankDevices& devices) {
  std::vector<LaunchTransport> transports;
  for (const std::string& name : plan.names) {
    LaunchTransport transport;
    transport.name = name;
    const bool host = name == "shared_memory" || (name == "mpi" && plan.mpi_memory == Memory::host);
    transport.memory = host ? Memory::host : Memory::device;
    transport.shares_devices = !host && devices.shared;
    try {
      transport.communicator = make_transport(ranks, name, plan.mpi_memory, devices);
    } catch (const Unavailable& reason) {
      if (!plan.by_name) continue;
      transport.why_not = reason.what();
    }
    transports.push_back(std::move(transport));
    if (plan.only_one) break;
  }
  return transports;
}

void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint) {
  for (LaunchTransport& transport : transports) {
    if (!transport.communicator) continue;
    try {
      transport.buffers = std::make_unique<AllreduceBuffers>(*transport.communicator, footprint);
    } catch (const Unavailable& reason) {
      transport.why_not = reason.what();
      transport.communicator.reset();
    }
  }
}

}  // namespace scalebench
