// SPDX-License-Identifier: Apache-2.0
// On which devices the ranks of a program work, as its words choose them, and the transports
// between them, by their names.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/program/program.hpp"
#include "collectives/transport/nccl.hpp"

namespace scalebench {

// The words that choose devices, the same for every program of ranks.

inline constexpr std::array<std::string_view, 3> kDevices{"auto", "cpu", "cuda"};

struct DeviceOptions {
  std::string device = "auto";
  std::string named;   // of each host, such as 0,2, or UUIDs; empty: all
  bool share = false;  // several ranks may be on one device

  /// Whether a device must be used: named, or asked for as cuda.
  bool required() const { return device == "cuda" || !named.empty(); }
  /// "--devices 0,2" or "--device cuda", as typed.
  std::string typed() const;
};

/// --device, --devices and --share-devices, bound to `options`.
void add_device_options(CLI::App& app, DeviceOptions& options);

/// Throws UsageError for words that contradict each other.
void check_device_options(const DeviceOptions& options);

// The devices of this start's ranks: seen by each, placed for all, and the same on every rank.

struct RankDevices {
  bool any = false;                // some rank sees a device, and may use one
  bool shared = false;             // and some of them the same
  std::string why_not;             // one line, unless each()
  int mine = 0;                    // CUDA's number of this rank's
  std::vector<std::string> uuids;  // by rank; empty: not every rank has one

  /// Every rank has one.
  bool each() const { return !uuids.empty(); }
  /// Every rank has one of its own.
  bool own() const { return each() && !shared; }
  /// The UUID of a rank's; empty unless each().
  std::string uuid_of(int rank) const;
  /// Selects this rank's, on this thread. Throws Unavailable("`what`: why not") unless each().
  void select(const std::string& what) const;
};

/// Collective. Throws JointRefusal for a device that was named and is not there.
RankDevices place_on_devices(const Ranks& ranks, const DeviceOptions& options);

/// Throws JointRefusal where not every rank has a device, though devices were asked for, or
/// although there are some, which are then too few. Under `auto` a machine without any device is no
/// reason to refuse.
void require_device_each(const RankDevices& devices, const DeviceOptions& options);

/// Collective: the transport of that name, on this rank's device where it uses one, with what NCCL
/// is told of its windows. Throws Unavailable, on every rank, where it cannot work.
std::unique_ptr<Communicator> make_transport(
    const Ranks& ranks, std::string_view name, Memory mpi_memory, const RankDevices& devices,
    std::optional<Registration> registration = std::nullopt);

}  // namespace scalebench
