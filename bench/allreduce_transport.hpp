// SPDX-License-Identifier: Apache-2.0
// The communicators that move gradients or the benchmark's buffers, by their transports' names, and
// which of them `auto` means on these ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program.hpp"

namespace scalebench {

/// What a transport needs, for --list.
struct TransportNeed {
  std::string_view name;
  std::string_view needs;
};
std::vector<TransportNeed> transport_needs();

/// Collective: whether every rank has a device of its own.
bool every_rank_has_a_device(const Ranks& ranks);

/// Where buffers lie by choice: device memory is only for ranks with a device each.
enum class MemoryChoice { automatic, host, device };

/// Collective. `words`: names, `all`, or `auto`: mpi and shared_memory on host memory, nccl and
/// cuda_ipc on devices, of which automatic memory takes the latter where each rank has one.
/// Transports that `auto` named may be missing later; `by_name` is false for them. `only_one`: of
/// several, the first that works is enough.
struct TransportPlan {
  std::vector<std::string> names;
  bool by_name = true;
  bool only_one = false;
  Memory mpi_memory = Memory::host;

  /// Transports whose windows take host memory.
  std::size_t on_host() const;
};
TransportPlan transport_plan(const Ranks& ranks, const std::vector<std::string>& words,
                             MemoryChoice memory, bool only_one);

/// Collective: the transport of that name, on this rank's `device` where it uses one (empty: that
/// of its number on the host). Throws Unavailable, on every rank, where it cannot work.
std::unique_ptr<Communicator> make_transport(const Ranks& ranks, std::string_view name,
                                             Memory mpi_memory, std::optional<int> device = {});

/// One transport, for programs that train.
class AllreduceTransport {
 public:
  /// Collective. `name`: a transport, or auto (nccl where every rank has a device of its own, else
  /// mpi). `device` as in make_transport. Throws Unavailable when it is impossible.
  AllreduceTransport(const Ranks& ranks, std::string_view name, std::optional<int> device = {});
  Communicator& communicator() const { return *communicator_; }

 private:
  std::unique_ptr<Communicator> owned_;
  Communicator* communicator_;
};

}  // namespace scalebench
