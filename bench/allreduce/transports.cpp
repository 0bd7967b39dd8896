// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/transports.hpp"

#include <algorithm>

#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/error.hpp"

namespace scalebench {

TransportPlan transport_plan(const Ranks& ranks, const AllreduceOptions& options,
                             const RankDevices& devices) {
  const bool shares_a_host = any_agrees(ranks.host, ranks.session.local_size() > 1);
  TransportPlan plan;
  if (options.memory == MemoryChoice::device) plan.mpi_memory = Memory::device;
  if (options.transports.front() == "all") {
    for (const TransportNeed& one : kTransports) plan.names.emplace_back(one.name);
  } else if (options.transports.front() != "auto") {
    plan.names = options.transports;
  } else if (options.memory == MemoryChoice::device || options.devices.required()) {
    plan.names = {"nccl", "cuda_ipc"};
  } else if (options.memory == MemoryChoice::automatic && devices.any) {
    require_device_each(devices, options.devices);
    plan.names = {"nccl", "cuda_ipc"};
    plan.by_name = devices.shared;  // what NCCL refuses is worth a row
  } else {
    plan.names = {"mpi"};
    if (shares_a_host) plan.names.emplace_back("shared_memory");
    plan.by_name = false;
  }
  return plan;
}

std::vector<AllreducePlace> places_of(const TransportPlan& plan, const AllreduceOptions& options) {
  std::vector<AllreducePlace> places;
  for (const std::string& name : plan.names) {
    const bool host = name == "shared_memory" || (name == "mpi" && plan.mpi_memory == Memory::host);
    if (host) {
      places.push_back({name, Memory::host});
    } else if (name != "nccl" || options.registrations.empty()) {
      places.push_back({name, Memory::device});
    } else {
      for (const Registration one : options.registrations) {
        places.push_back({name, Memory::device, one});
      }
    }
  }
  return places;
}

std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const AllreduceOptions& options,
                                             const RankDevices& devices) {
  require_nccl_for_registrations(options, plan.names);
  std::vector<LaunchTransport> transports;
  for (const AllreducePlace& place : places_of(plan, options)) {
    LaunchTransport transport;
    transport.place = place;
    transport.shares_devices = place.memory == Memory::device && devices.shared;
    std::string why_not;
    try {
      transport.communicator =
          make_transport(ranks, place.transport, plan.mpi_memory, devices, place.registration);
      if (place.memory == Memory::host) transport.communicator->set_pages(Pages::standard);
    } catch (const Unavailable& reason) {
      why_not = reason.what();
    }
    transport.why_not = common_problem(ranks.host, why_not);
    if (!transport.why_not.empty()) transport.communicator.reset();
    // Of what `auto` named, an NCCL that does not start is worth a row, too.
    const bool has_nccl = place.transport == "nccl" && !nccl_version().empty();
    if (!transport.why_not.empty() && !plan.by_name && !has_nccl) continue;
    transports.push_back(std::move(transport));
  }
  ranks.progress.end_cell();  // of an opening that failed, too
  return transports;
}

namespace {

/// Tells the watchdog of a communicator's calls, as long as it lives.
class MarkedMeanwhile {
 public:
  MarkedMeanwhile(Communicator& data, CallMarks* marks) : data_(data), before_(data.marks()) {
    data_.set_marks(marks);
  }
  ~MarkedMeanwhile() { data_.set_marks(before_); }
  MarkedMeanwhile(const MarkedMeanwhile&) = delete;
  MarkedMeanwhile& operator=(const MarkedMeanwhile&) = delete;

 private:
  Communicator& data_;
  CallMarks* before_;
};

}  // namespace

void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint,
              Communicator& host) {
  for (LaunchTransport& transport : transports) {
    if (!transport.communicator) continue;
    std::string why_not;
    try {
      Communicator& data = *transport.communicator;
      // Of its calls, too, the watchdog knows in which a rank waits here; timed ones go without.
      const MarkedMeanwhile marked(data, host.marks());
      transport.buffers = std::make_unique<AllreduceBuffers>(data, footprint);
      transport.registered = data.registration();
    } catch (const Unavailable& reason) {
      why_not = reason.what();
    }
    transport.why_not = common_problem(host, why_not);
    if (transport.why_not.empty()) continue;
    transport.buffers.reset();
    transport.communicator.reset();
  }
}

}  // namespace scalebench
