// SPDX-License-Identifier: Apache-2.0
#include "bench/program/monitor.hpp"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/measure/clock.hpp"
#include "bench/measure/clock_sync.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr std::chrono::milliseconds kInterval{500};
constexpr double kShortest = 0.1;  // seconds

double utc_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) /
         1e3;
}

/// NaN when the clock of the cores did not move.
double share(double part, double part_before, double total, double total_before) {
  const double ticks = total - total_before;
  return ticks > 0 ? (part - part_before) / ticks : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

struct Monitor::Sampler {
  Sampler(ResultRow row, bool first, CsvWriter* to)
      : common(std::move(row)),
        file(to),
        at_home(first),
        thread([this](const std::stop_token& stop) { run(stop); }) {}

  void stop() {
    thread.request_stop();
    thread.join();
  }

  /// Until the next sample is due; false: stop.
  bool sleep(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kInterval, [] { return false; });
    return !stop.stop_requested();
  }

  /// The counters and their time.
  std::pair<HostLoad, double> look() const {
    return with_its_time(5e-3, [this] { return host.read(); });
  }

  void run(const std::stop_token& stop) {
    try {
      const Nvml cards;
      auto [before, last] = look();
      for (bool goes_on = true; goes_on;) {
        goes_on = sleep(stop);
        // A last look, so that a short program has one; ticks are too coarse for less.
        if (!goes_on && local_seconds() - last < kShortest) break;
        const auto [now, seconds] = look();
        common.set("utc_seconds", utc_seconds());
        std::vector<ResultRow> sample =
            monitor_rows(common, before, now, seconds - last, device_loads(cards));
        before = now;
        last = seconds;
        for (ResultRow& row : sample) {
          if (at_home) {
            write(row);
          } else {
            kept.push_back(std::move(row));
          }
        }
      }
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }

  void write(const ResultRow& row) {
    if (file != nullptr) file->append(row.cells());
  }

  ResultRow common;
  HostLoadReader host;
  CsvWriter* file;              // null: none is written
  bool at_home;                 // on rank 0's host, whose rows are written as they come
  std::vector<ResultRow> kept;  // of another host
  std::string problem;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread thread;  // the last: it uses all of the above
};

Monitor::Monitor(const Ranks& ranks, bool wanted, int launch, Recorder& recorder)
    : ranks_(ranks), wanted_(wanted) {
  if (!wanted_ || ranks_.session.local_rank() != 0) return;
  ResultRow row = recorder.side_row(monitor_schema(), "");
  row.set("launch", launch).set("host", ranks_.session.host());
  sampler_ =
      std::make_unique<Sampler>(std::move(row), ranks_.first(), recorder.file(monitor_schema()));
}

Monitor::~Monitor() = default;

void Monitor::finish(Console& console) {
  if (!wanted_) return;
  nlohmann::json mine = nlohmann::json::array();
  std::string problem;
  if (sampler_) {
    sampler_->stop();
    problem = sampler_->problem;
    for (const ResultRow& row : sampler_->kept) mine.push_back(row.cells());
  }
  for (const std::string& one : all_gather(ranks_.host, problem)) {
    if (!one.empty()) console.warn("monitor.csv ends early: " + one);
  }
  for (const std::string& text : all_gather(ranks_.host, mine.dump())) {
    if (!ranks_.first()) continue;
    for (const auto& cells : nlohmann::json::parse(text)) {
      ResultRow row(monitor_schema());
      std::size_t column = 0;
      for (const std::string cell : cells) row.set(row.schema().columns[column++], cell);
      sampler_->write(row);
    }
  }
}

std::vector<ResultRow> monitor_rows(const ResultRow& common, const HostLoad& before,
                                    const HostLoad& now, double seconds,
                                    const std::vector<DeviceLoad>& devices) {
  const auto rate = [&](double HostLoad::*counter) {
    return (now.*counter - before.*counter) / seconds;
  };
  std::vector<ResultRow> rows{common};
  ResultRow& host = rows[0];
  host.set("cpu_share",
           share(now.cores.busy, before.cores.busy, now.cores.total, before.cores.total));
  host.set("steal_share",
           share(now.cores.steal, before.cores.steal, now.cores.total, before.cores.total));
  host.set("memory_used_bytes", now.memory_used_bytes);
  host.set("disk_read_bytes_per_s", rate(&HostLoad::disk_read_bytes));
  host.set("disk_write_bytes_per_s", rate(&HostLoad::disk_written_bytes));
  host.set("network_received_bytes_per_s", rate(&HostLoad::network_received_bytes));
  host.set("network_sent_bytes_per_s", rate(&HostLoad::network_sent_bytes));
  for (const DeviceLoad& device : devices) {
    ResultRow& row = rows.emplace_back(common);
    row.set("gpu", device.device).set("gpu_share", device.busy_share);
    row.set("gpu_memory_used_bytes", device.memory_used_bytes);
    row.set("gpu_watts", device.watts).set("gpu_clock_mhz", device.clock_mhz);
  }
  return rows;
}

}  // namespace scalebench
