// SPDX-License-Identifier: Apache-2.0
// The devices of this start's ranks: seen by each, placed for all, and the same on every rank.
#pragma once

#include <string>
#include <vector>

#include "bench/device_options.hpp"
#include "bench/program.hpp"

namespace scalebench {

struct RankDevices {
  bool any = false;                // some rank sees a device, and may use one
  bool each = false;               // every rank has one
  bool shared = false;             // and some of them the same
  bool over_nccl = false;          // NCCL was told to take several on one device
  std::string why_not;             // one line, unless `each`
  int mine = 0;                    // CUDA's number of this rank's
  std::vector<std::string> uuids;  // by rank, where `each`

  /// Every rank has one of its own.
  bool own() const { return each && !shared; }
  /// The UUID of a rank's; empty unless `each`.
  std::string uuid_of(int rank) const;
  /// Selects this rank's, on this thread. Throws Unavailable("`what`: why not") unless `each`.
  void select(const std::string& what) const;
};

/// Collective. Throws JointRefusal for a device that was named and is not there, and UsageError on
/// every rank for --nccl-share-devices with a NCCL that cannot.
RankDevices place_on_devices(const Ranks& ranks, const DeviceOptions& options);

/// Throws JointRefusal where not every rank has a device, though devices were asked for, or
/// although there are some, which are then too few. Under `auto` a machine without any device is no
/// reason to refuse.
void require_device_each(const RankDevices& devices, const DeviceOptions& options);

}  // namespace scalebench
