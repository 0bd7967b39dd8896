// SPDX-License-Identifier: Apache-2.0
// Sockets, cores and caches of this machine by hwloc, and how many of them this process may use.
#pragma once

#include <cstdint>
#include <vector>

namespace scalebench {

struct HostTopology {
  int sockets = 0;
  int cores = 0;
  int hardware_threads = 0;
  int numa_nodes = 0;
  /// What cgroup and affinity leave to this process.
  int usable_cores = 0;
  int usable_hardware_threads = 0;

  struct Cache {
    int level = 0;             // 1 is the L1 data cache
    std::int64_t bytes = 0;    // of one instance
    int count = 0;             // instances in the machine
    int hardware_threads = 0;  // that share one instance
  };
  std::vector<Cache> caches;  // level 1 first; empty when a virtual machine hides them
};

/// Throws Error when hwloc cannot read the machine.
HostTopology host_topology();

}  // namespace scalebench
