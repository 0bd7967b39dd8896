// SPDX-License-Identifier: Apache-2.0
#include "bench/program/transports.hpp"

#include <algorithm>

#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool is_on_device(std::string_view name) { return name == "nccl" || name == "cuda_ipc"; }

}  // namespace

std::vector<TransportNeed> transport_needs() {
  return {
      {"mpi", "any ranks; host memory, or device memory with --memory device and a CUDA-aware MPI"},
      {"shared_memory",
       "ranks that share a host, which it connects through windows; MPI between hosts"},
      {"nccl", "a device for every rank, and a build with NCCL"},
      {"cuda_ipc",
       "devices on one host, in reach of each other; ranks that share one are emulated"}};
}

std::size_t TransportPlan::on_host() const {
  return static_cast<std::size_t>(std::ranges::count_if(names, [&](const std::string& name) {
    return !is_on_device(name) && (name != "mpi" || mpi_memory == Memory::host);
  }));
}

TransportPlan transport_plan(const Ranks& ranks, const std::vector<std::string>& words,
                             MemoryChoice memory, bool only_one, const RankDevices& devices,
                             const DeviceOptions& asked) {
  const bool shares_a_host = any_agrees(ranks.host, ranks.session.local_size() > 1);
  TransportPlan plan;
  plan.only_one = only_one;
  if (memory == MemoryChoice::device) plan.mpi_memory = Memory::device;
  if (words.front() == "all") {
    for (const TransportNeed& one : transport_needs()) plan.names.emplace_back(one.name);
  } else if (words.front() != "auto") {
    plan.names = words;
  } else if (memory == MemoryChoice::device || asked.required()) {
    plan.names = {"nccl", "cuda_ipc"};
  } else if (memory == MemoryChoice::automatic && devices.any) {
    require_device_each(devices, asked);
    plan.names = {"nccl", "cuda_ipc"};
    plan.by_name = devices.shared && !only_one;  // what NCCL refuses is worth a row
  } else {
    plan.names = {"mpi"};
    if (shares_a_host) plan.names.emplace_back("shared_memory");
    plan.by_name = false;
  }
  return plan;
}

std::unique_ptr<Communicator> make_transport(const Ranks& ranks, std::string_view name,
                                             Memory mpi_memory, const RankDevices& devices) {
  if (name == "shared_memory") return make_shared_memory_communicator(ranks.host);
  if (name == "mpi" && mpi_memory == Memory::host) return make_mpi_communicator();
  devices.select(fmt::format("transport {}", name));
  if (name == "nccl") return make_nccl_communicator(ranks.host);
  if (name == "cuda_ipc") return make_cuda_ipc_communicator(ranks.host);
  return make_mpi_communicator(Memory::device);
}

AllreduceTransport::AllreduceTransport(const Ranks& ranks, std::string_view name,
                                       const RankDevices& devices) {
  if (name == "auto") {
    const bool over_nccl = devices.own() || devices.over_nccl;
    name = !devices.each ? "mpi" : over_nccl && !nccl_version().empty() ? "nccl" : "cuda_ipc";
  }
  if (name != "mpi") owned_ = make_transport(ranks, name, Memory::host, devices);
  communicator_ = owned_ ? owned_.get() : &ranks.host;
}

}  // namespace scalebench
