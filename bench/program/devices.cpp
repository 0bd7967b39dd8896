// SPDX-License-Identifier: Apache-2.0
#include "bench/program/devices.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "bench/cli/help.hpp"
#include "bench/cli/words.hpp"
#include "bench/machine/device_choice.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::string DeviceOptions::typed() const {
  return named.empty() ? "--device " + device : "--devices " + named;
}

void add_device_options(CLI::App& app, DeviceOptions& options) {
  add_choice(app, "--device", options.device, kDevices,
             "auto, cpu, or cuda (one device per rank of a host)");
  const Heading parallelism(app, kParallelism);
  app.add_option("--devices", options.named,
                 "the devices that the ranks of a host take, in their order, such as 0,2, or "
                 "UUIDs; default: all");
  app.add_flag("--share-devices", options.share,
               "several ranks may share a device where there are too few; rows are then emulated");
}

void check_device_options(const DeviceOptions& options) {
  parse_devices(options.named);
  if (options.device == "cpu" && (!options.named.empty() || options.share)) {
    fail<UsageError>("{} is about CUDA devices, and --device cpu asks for none",
                     options.named.empty() ? "--share-devices" : options.typed());
  }
}

namespace {

/// Collective: what every rank sees.
std::vector<DeviceView> views_of(const Ranks& ranks) {
  std::vector<std::string> mine;
  for (int index = 0; index < device_count(); ++index) mine.push_back(device_uuid(index));
  const std::vector<std::string> hosts = all_gather(ranks.host, ranks.session.host());
  const std::vector<std::string> all =
      all_gather(ranks.host, fmt::format("{}", fmt::join(mine, " ")));
  std::vector<DeviceView> views;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    DeviceView& view = views.emplace_back();
    view.host = hosts[rank];
    std::istringstream words(all[rank]);
    for (std::string uuid; words >> uuid;) view.uuids.push_back(uuid);
  }
  return views;
}

/// Every rank places all of them by the same values, and so meets the same refusal.
DevicePlacement placed_alike(const std::vector<DeviceView>& views, const DeviceOptions& options) {
  try {
    return place_ranks(views, parse_devices(options.named), options.share);
  } catch (const UsageError& error) {
    throw JointRefusal(error.what());
  }
}

}  // namespace

std::string RankDevices::uuid_of(int rank) const {
  return each() ? uuids[static_cast<std::size_t>(rank)] : std::string();
}

void RankDevices::select(const std::string& what) const {
  if (!each()) fail<Unavailable>("{}: {}", what, why_not);
  select_device(mine);
}

RankDevices place_on_devices(const Ranks& ranks, const DeviceOptions& options) {
  RankDevices devices;
  if (options.device == "cpu") {
    devices.why_not = "--device cpu asks for none";
    return devices;
  }
  const std::vector<DeviceView> views = views_of(ranks);
  for (const DeviceView& view : views) devices.any = devices.any || !view.uuids.empty();
  if (!devices.any) {
    devices.why_not = why_no_device();
    return devices;
  }
  const DevicePlacement placement = placed_alike(views, options);
  devices.why_not = placement.why_not;
  if (placement.index.empty()) return devices;
  devices.shared = placement.shared;
  for (std::size_t rank = 0; rank < views.size(); ++rank) {
    devices.uuids.push_back(views[rank].uuids[static_cast<std::size_t>(placement.index[rank])]);
  }
  devices.mine = placement.index[static_cast<std::size_t>(ranks.session.rank())];
  return devices;
}

void require_device_each(const RankDevices& devices, const DeviceOptions& options) {
  if (devices.each() || options.device == "cpu") return;
  if (!devices.any && !options.required()) return;
  fail<JointRefusal>("{}: {}", options.typed(), devices.why_not);
}

namespace {

std::unique_ptr<Communicator> opened(const Ranks& ranks, std::string_view name, Memory mpi_memory,
                                     const RankDevices& devices,
                                     std::optional<Registration> registration) {
  if (name == "shared_memory") return make_shared_memory_communicator(ranks.host);
  if (name == "mpi" && mpi_memory == Memory::host) return make_mpi_communicator(Memory::host);
  devices.select(fmt::format("transport {}", name));
  if (name == "nccl") return make_nccl_communicator(ranks.host, registration);
  if (name == "cuda_ipc") return make_cuda_ipc_communicator(ranks.host);
  return make_mpi_communicator(Memory::device);
}

}  // namespace

std::unique_ptr<Communicator> make_transport(const Ranks& ranks, std::string_view name,
                                             Memory mpi_memory, const RankDevices& devices,
                                             std::optional<Registration> registration) {
  ranks.progress.span(fmt::format("opening transport {}", name));
  // A hundred times as long is waited: NCCL takes its time to find out about a large machine.
  ranks.progress.expect(0.6 + 0.005 * ranks.session.size());
  ranks.progress.enter();  // who has not is who the others wait for
  auto transport = opened(ranks, name, mpi_memory, devices, registration);
  ranks.progress.leave();
  ranks.progress.end_cell();
  return transport;
}

}  // namespace scalebench
