// SPDX-License-Identifier: Apache-2.0
#include "bench/monitor.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "bench/allreduce_side_file.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/monitor_row.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr std::chrono::milliseconds kInterval{500};
constexpr double kShortest = 0.1;  // seconds

std::vector<int> cores_of_this_process() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

/// Collective: process ids and cores of the ranks on this rank's host.
struct Neighbours {
  explicit Neighbours(const Ranks& ranks) {
    const nlohmann::json mine{{"host", ranks.session.host()},
                              {"process", static_cast<int>(getpid())},
                              {"cores", cores_of_this_process()}};
    std::set<int> all_cores;
    for (const std::string& text : all_gather(ranks.host, mine.dump())) {
      const nlohmann::json one = nlohmann::json::parse(text);
      if (one.at("host") != mine.at("host")) continue;
      processes.push_back(one.at("process"));
      for (const int core : one.at("cores")) all_cores.insert(core);
    }
    cores.assign(all_cores.begin(), all_cores.end());
  }
  std::vector<int> processes;
  std::vector<int> cores;
};

/// Seconds of CPU that this thread has used.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double utc_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) /
         1e3;
}

}  // namespace

struct Monitor::Sampler {
  Sampler(const Ranks& ranks, const RecordOptions& options, ResultRow row,
          const Neighbours& neighbours)
      : common(std::move(row)),
        host(neighbours.processes, neighbours.cores),
        file(ranks, options, monitor_schema()),
        at_home(ranks.first()),
        thread([this] { run(); }) {}
  ~Sampler() { stop(); }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }

  /// Until the next sample is due; false: stop.
  bool sleep() {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, kInterval, [this] { return stopped; });
  }

  void run() {
    try {
      const DeviceLoadReader cards;
      const double begin = local_seconds();
      double last = begin;
      HostLoad before = host.read();
      for (bool goes_on = true; goes_on;) {
        goes_on = sleep();
        // A last look, so that a short program has one; ticks are too coarse for less.
        if (!goes_on && local_seconds() - last < kShortest) break;
        const double cost = thread_seconds();
        const HostLoad now = host.read();
        const double seconds = local_seconds();
        common.set("seconds", seconds - begin).set("utc_seconds", utc_seconds());
        std::vector<ResultRow> sample =
            monitor_rows(common, before, now, seconds - last, cards.read());
        before = now;
        last = seconds;
        sample[0].set("sampling_seconds", thread_seconds() - cost);
        for (ResultRow& row : sample) {
          if (at_home) {
            file.write(row);
          } else {
            kept.push_back(std::move(row));
          }
        }
      }
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }

  ResultRow common;
  HostLoadReader host;
  SideFile file;
  bool at_home;                 // on rank 0's host, whose rows are written as they come
  std::vector<ResultRow> kept;  // of another host
  std::string problem;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::thread thread;  // the last: it uses all of the above
};

Monitor::Monitor(const Ranks& ranks, bool wanted, const RecordOptions& options,
                 const Recorder& recorder, std::string_view bench)
    : ranks_(ranks), wanted_(wanted) {
  if (!wanted_) return;
  const Neighbours neighbours(ranks_);
  if (ranks_.session.local_rank() != 0) return;
  ResultRow row = recorder.side_row(monitor_schema(), "");
  row.set("case_id", "").set("status", "ok").set("bench", bench);
  row.set("launch", options.launch).set("host", ranks_.session.host());
  sampler_ = std::make_unique<Sampler>(ranks_, options, std::move(row), neighbours);
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
      sampler_->file.write(row);
    }
  }
}

}  // namespace scalebench
