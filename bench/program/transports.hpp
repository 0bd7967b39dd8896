// SPDX-License-Identifier: Apache-2.0
// The communicators that move gradients or the benchmark's buffers, by their transports' names, and
// which of them `auto` means on these ranks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/devices.hpp"

namespace scalebench {

/// What a transport needs, for --list.
struct TransportNeed {
  std::string_view name;
  std::string_view needs;
};
std::vector<TransportNeed> transport_needs();

/// Where buffers lie by choice; automatic: on devices where every rank has one.
enum class MemoryChoice { automatic, host, device };

/// Collective. `words`: names, `all`, or `auto`: mpi and shared_memory on host memory, nccl and
/// cuda_ipc on devices, of which automatic memory takes the latter where each rank has one; it
/// throws UsageError where there are devices, but too few. Transports that `auto` named may be
/// missing later; `by_name` is false for them. `only_one`: of several, the first that works is
/// enough.
struct TransportPlan {
  std::vector<std::string> names;
  bool by_name = true;
  bool only_one = false;
  Memory mpi_memory = Memory::host;

  /// Transports whose windows take host memory.
  std::size_t on_host() const;
};
TransportPlan transport_plan(const Ranks& ranks, const std::vector<std::string>& words,
                             MemoryChoice memory, bool only_one, const RankDevices& devices,
                             const DeviceOptions& asked);

/// Collective: the transport of that name, on this rank's device where it uses one. Throws
/// Unavailable, on every rank, where it cannot work.
std::unique_ptr<Communicator> make_transport(const Ranks& ranks, std::string_view name,
                                             Memory mpi_memory, const RankDevices& devices);

/// One transport, for programs that train.
class AllreduceTransport {
 public:
  /// Collective. `name`: a transport, or auto: nccl where every rank has a device of its own,
  /// cuda_ipc where they share some (nccl where that was told to take them), else mpi. Throws
  /// Unavailable when it is impossible.
  AllreduceTransport(const Ranks& ranks, std::string_view name, const RankDevices& devices);
  Communicator& communicator() const { return *communicator_; }

 private:
  std::unique_ptr<Communicator> owned_;
  Communicator* communicator_;
};

}  // namespace scalebench
