// SPDX-License-Identifier: Apache-2.0
#include "bench/monitor_row.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace scalebench {
namespace {

/// NaN when the clock of the core did not move.
double share(double part, double part_before, double total, double total_before) {
  const double ticks = total - total_before;
  return ticks > 0 ? (part - part_before) / ticks : std::numeric_limits<double>::quiet_NaN();
}

double busy_share(const CoreTime& before, const CoreTime& now) {
  return share(now.busy, before.busy, now.total, before.total);
}

/// Mean busy share over the ranks' cores, and each as `core=share` for the eye.
void set_cores(ResultRow& row, const HostLoad& before, const HostLoad& now) {
  if (before.cores.size() != now.cores.size()) return;  // one was taken away meanwhile
  std::string each;
  CoreTime all_before{-1, 0, 0, 0};
  CoreTime all_now = all_before;
  for (std::size_t i = 0; i < now.cores.size(); ++i) {
    const double busy = busy_share(before.cores[i], now.cores[i]);
    if (std::isnan(busy)) continue;
    each += fmt::format("{}{}={:.2f}", each.empty() ? "" : ";", now.cores[i].core, busy);
    all_before.busy += before.cores[i].busy;
    all_before.total += before.cores[i].total;
    all_now.busy += now.cores[i].busy;
    all_now.total += now.cores[i].total;
  }
  row.set("rank_cores_share", busy_share(all_before, all_now)).set("core_shares", each);
}

}  // namespace

std::vector<ResultRow> monitor_rows(const ResultRow& common, const HostLoad& before,
                                    const HostLoad& now, double seconds,
                                    const std::vector<DeviceLoad>& devices) {
  const auto rate = [&](double HostLoad::*counter) {
    return (now.*counter - before.*counter) / seconds;
  };
  std::vector<ResultRow> rows{common};
  ResultRow& host = rows[0];
  host.set("cpu_share", busy_share(before.all, now.all));
  set_cores(host, before, now);
  host.set("steal_share", share(now.all.steal, before.all.steal, now.all.total, before.all.total));
  host.set("clock_mhz", now.clock_mhz);
  host.set("context_switches_per_s", rate(&HostLoad::context_switches));
  host.set("ranks_memory_bytes", now.processes_memory_bytes);
  host.set("memory_used_bytes", now.memory_used_bytes).set("memory_bytes", now.memory_bytes);
  host.set("disk_read_bytes_per_s", rate(&HostLoad::disk_read_bytes));
  host.set("disk_write_bytes_per_s", rate(&HostLoad::disk_written_bytes));
  host.set("network_received_bytes_per_s", rate(&HostLoad::network_received_bytes));
  host.set("network_sent_bytes_per_s", rate(&HostLoad::network_sent_bytes));
  host.set("loopback_bytes_per_s", rate(&HostLoad::loopback_bytes));
  for (const DeviceLoad& device : devices) {
    ResultRow& row = rows.emplace_back(common);
    row.set("gpu", device.device).set("gpu_share", device.busy_share);
    row.set("gpu_memory_used_bytes", device.memory_used_bytes);
    row.set("gpu_memory_bytes", device.memory_bytes).set("gpu_watts", device.watts);
    row.set("gpu_clock_mhz", device.clock_mhz).set("gpu_celsius", device.celsius);
    row.set("gpu_throttle_reasons", device.throttle_reasons);
  }
  return rows;
}

}  // namespace scalebench
