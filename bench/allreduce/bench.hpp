// SPDX-License-Identifier: Apache-2.0
// The memory in which all cases of one transport run: one window that peers can reach, cut into
// page-aligned slots. A warm case stays in one slot; a cold one walks through several.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/case.hpp"
#include "bench/program/transports.hpp"

namespace scalebench {

/// Where one operation reads and writes: the same span in place, else two apart.
struct AllreduceSpans {
  Span in;
  Span out;
};

/// What the plan asks of every transport's memory.
struct AllreduceFootprint {
  std::size_t largest_bytes = 0;  // of one rank's buffer
  bool out_of_place = false;      // some case needs two of them
  bool cold = false;
  std::size_t cold_bytes = 0;  // to walk through when cold; 0: four times the last-level cache

  std::size_t window_bytes(Memory memory) const;
};

class AllreduceBuffers {
 public:
  /// Collective, and so is the end. Zeroed.
  AllreduceBuffers(Communicator& data, const AllreduceFootprint& footprint);

  /// How many slots a case walks through, one after the other in memory; at least one.
  std::size_t slots(const AllreduceCase& one) const;
  AllreduceSpans slot(const AllreduceCase& one, std::size_t index) const;
  /// The first `count` elements as one span.
  Span front(std::size_t count, DType dtype) const;

 private:
  Window window_;
  bool cold_;
};

/// Throws UsageError with the bytes needed and free when `transports` such windows, and what the
/// exact check and the algorithms need, do not fit into this host's memory for all of its ranks.
void require_memory(const AllreduceFootprint& footprint, std::size_t host_transports,
                    int ranks_on_host);

// The transports of one start of bench_allreduce, side by side, each with its memory; or why one
// of them cannot work here.

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
