// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/bench.hpp"

#include <algorithm>

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t page_aligned(std::size_t bytes) {
  return (std::max(bytes, std::size_t{1}) + kPage - 1) / kPage * kPage;
}

/// Bytes that surely displace what the last-level cache holds.
std::size_t beyond_cache(Memory memory) {
  constexpr std::size_t kDeviceCache = std::size_t{128} << 20U;  // above any card's L2 today
  return 4 * (memory == Memory::device ? kDeviceCache : host_cache_bytes());
}

std::size_t slot_bytes(const AllreduceCase& one) {
  return page_aligned(one.bytes()) * (one.in_place ? 1 : 2);
}

}  // namespace

std::size_t AllreduceFootprint::window_bytes(Memory memory) const {
  const std::size_t slot = page_aligned(largest_bytes) * (out_of_place ? 2 : 1);
  const std::size_t walk = cold_bytes > 0 ? cold_bytes : beyond_cache(memory);
  return cold ? std::max(slot, page_aligned(walk)) : slot;
}

AllreduceBuffers::AllreduceBuffers(Communicator& data, const AllreduceFootprint& footprint)
    : window_(data.window(footprint.window_bytes(data.memory()) / size_of(DType::float64),
                          DType::float64)),
      cold_(footprint.cold) {}

std::size_t AllreduceBuffers::slots(const AllreduceCase& one) const {
  return cold_ ? std::max<std::size_t>(window_.span.bytes() / slot_bytes(one), 1) : 1;
}

AllreduceSpans AllreduceBuffers::slot(const AllreduceCase& one, std::size_t index) const {
  std::byte* at = window_.span.data + index * slot_bytes(one);
  const Span in{at, one.count, one.dtype, window_.span.memory};
  Span out = in;
  if (!one.in_place) out.data += page_aligned(one.bytes());
  return {in, out};
}

Span AllreduceBuffers::front(std::size_t count, DType dtype) const {
  return {window_.span.data, count, dtype, window_.span.memory};
}

void require_memory(const AllreduceFootprint& footprint, std::size_t host_transports,
                    int ranks_on_host) {
  // A window and its algorithms' scratch for each transport, the inputs of the check for all.
  const auto largest = static_cast<double>(footprint.largest_bytes);
  const double window = static_cast<double>(footprint.window_bytes(Memory::host)) + largest;
  const double needed = (window * static_cast<double>(host_transports) + largest) * ranks_on_host;
  const auto free = static_cast<double>(host_bytes_available());
  if (needed <= free) return;
  fail<UsageError>(
      "a buffer of {} bytes needs {:.0f} bytes for {} rank(s) and {} transport(s) on this host, "
      "{:.0f} are free; use a smaller -e{}",
      footprint.largest_bytes, needed, ranks_on_host, host_transports, free,
      host_transports > 1 ? " or one --transport" : "");
}

std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const RankDevices& devices) {
  std::vector<LaunchTransport> transports;
  for (const std::string& name : plan.names) {
    LaunchTransport transport;
    transport.name = name;
    const bool host = name == "shared_memory" || (name == "mpi" && plan.mpi_memory == Memory::host);
    transport.memory = host ? Memory::host : Memory::device;
    transport.shares_devices = !host && devices.shared;
    try {
      transport.communicator = make_transport(ranks, name, plan.mpi_memory, devices);
    } catch (const Unavailable& reason) {
      if (!plan.by_name) continue;
      transport.why_not = reason.what();
    }
    transports.push_back(std::move(transport));
    if (plan.only_one) break;
  }
  return transports;
}

void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint) {
  for (LaunchTransport& transport : transports) {
    if (!transport.communicator) continue;
    try {
      transport.buffers = std::make_unique<AllreduceBuffers>(*transport.communicator, footprint);
    } catch (const Unavailable& reason) {
      transport.why_not = reason.what();
      transport.communicator.reset();
    }
  }
}

}  // namespace scalebench
