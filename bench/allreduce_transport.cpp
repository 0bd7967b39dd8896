// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_transport.hpp"

#include <algorithm>

#include "collectives/control.hpp"
#include "collectives/cuda_ipc_communicator.hpp"
#include "collectives/mpi_communicator.hpp"
#include "collectives/nccl_communicator.hpp"
#include "collectives/shared_memory_communicator.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool is_on_device(std::string_view name) { return name == "nccl" || name == "cuda_ipc"; }

/// Collective. Each rank of a host takes `device`, or that of its number, or shares one where there
/// are too few, which NCCL would refuse.
void select_devices(const Ranks& ranks, std::string_view transport, std::optional<int> device) {
  const bool enough = transport == "nccl" ? every_rank_has_a_device(ranks)
                                          : all_agree(ranks.host, device_count() > 0);
  if (!enough) {
    const std::string why = why_no_device();
    fail<Unavailable>("transport {} needs a device for every rank of a host{}{}", transport,
                      why.empty() ? "" : ": ", why);
  }
  select_device(device.value_or(ranks.session.local_rank() % device_count()));
}

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

bool every_rank_has_a_device(const Ranks& ranks) {
  return all_agree(ranks.host, ranks.session.local_rank() < device_count());
}

std::size_t TransportPlan::on_host() const {
  return static_cast<std::size_t>(std::ranges::count_if(names, [&](const std::string& name) {
    return !is_on_device(name) && (name != "mpi" || mpi_memory == Memory::host);
  }));
}

TransportPlan transport_plan(const Ranks& ranks, const std::vector<std::string>& words,
                             MemoryChoice memory, bool only_one) {
  const bool has_devices = every_rank_has_a_device(ranks);
  const bool shares_a_host = any_agrees(ranks.host, ranks.session.local_size() > 1);
  TransportPlan plan;
  plan.only_one = only_one;
  if (memory == MemoryChoice::device) plan.mpi_memory = Memory::device;
  if (words.front() == "all") {
    for (const TransportNeed& one : transport_needs()) plan.names.emplace_back(one.name);
  } else if (words.front() != "auto") {
    plan.names = words;
  } else if (memory == MemoryChoice::device || (memory != MemoryChoice::host && has_devices)) {
    plan.names = {"nccl", "cuda_ipc"};
    plan.by_name = memory == MemoryChoice::device;
  } else {
    plan.names = {"mpi"};
    if (shares_a_host) plan.names.emplace_back("shared_memory");
    plan.by_name = false;
  }
  return plan;
}

std::unique_ptr<Communicator> make_transport(const Ranks& ranks, std::string_view name,
                                             Memory mpi_memory, std::optional<int> device) {
  if (name == "shared_memory") return make_shared_memory_communicator(ranks.host);
  if (name == "mpi" && mpi_memory == Memory::host) return make_mpi_communicator();
  select_devices(ranks, name, device);
  if (name == "nccl") return make_nccl_communicator(ranks.host);
  if (name == "cuda_ipc") return make_cuda_ipc_communicator(ranks.host);
  return make_mpi_communicator(Memory::device);
}

AllreduceTransport::AllreduceTransport(const Ranks& ranks, std::string_view name,
                                       std::optional<int> device) {
  if (name == "auto") {
    name = every_rank_has_a_device(ranks) && !nccl_version().empty() ? "nccl" : "mpi";
  }
  if (name != "mpi") owned_ = make_transport(ranks, name, Memory::host, device);
  communicator_ = owned_ ? owned_.get() : &ranks.host;
}

}  // namespace scalebench
