// SPDX-License-Identifier: Apache-2.0
#include "bench/record/host_topology.hpp"

#include <hwloc.h>

#include <array>
#include <memory>
#include <type_traits>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, decltype(&hwloc_bitmap_free)>;

Topology load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) fail("hwloc cannot be initialized");
  Topology topology(raw, hwloc_topology_destroy);
  // The whole machine, also what this process may not use: it is the same for every process.
  const bool loaded = hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
                      hwloc_topology_load(raw) == 0;
  if (!loaded) fail("hwloc cannot read the topology of this machine");
  return topology;
}

/// Objects of `type` that share at least one hardware thread with `set`.
int count_in(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t set) {
  int count = 0;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    if (hwloc_bitmap_intersects(object->cpuset, set) != 0) ++count;
  }
  return count;
}

}  // namespace

HostTopology host_topology() {
  const Topology topology = load();
  hwloc_topology_t raw = topology.get();
  const auto count = [raw](hwloc_obj_type_t type) { return hwloc_get_nbobjs_by_type(raw, type); };
  HostTopology host;
  host.sockets = count(HWLOC_OBJ_PACKAGE);
  host.cores = count(HWLOC_OBJ_CORE);
  host.hardware_threads = count(HWLOC_OBJ_PU);
  host.numa_nodes = count(HWLOC_OBJ_NUMANODE);

  const Bitmap usable(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(raw);
  const bool bound = hwloc_get_cpubind(raw, usable.get(), HWLOC_CPUBIND_PROCESS) == 0;
  if (!bound) hwloc_bitmap_copy(usable.get(), allowed);
  hwloc_bitmap_and(usable.get(), usable.get(), allowed);
  host.usable_cores = count_in(raw, HWLOC_OBJ_CORE, usable.get());
  host.usable_hardware_threads = count_in(raw, HWLOC_OBJ_PU, usable.get());

  for (const hwloc_obj_type_t type :
       std::array{HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(raw, type, nullptr);
    if (first == nullptr) continue;
    host.caches.push_back({static_cast<int>(first->attr->cache.depth),
                           static_cast<std::int64_t>(first->attr->cache.size), count(type),
                           hwloc_bitmap_weight(first->cpuset)});
  }
  return host;
}

}  // namespace scalebench
