// SPDX-License-Identifier: Apache-2.0
#include "bench/device_watch.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "bench/measure/clock_sync.hpp"
#include "bench/record/nvml.hpp"

namespace scalebench {
namespace {

constexpr std::chrono::milliseconds kPause{25};  // a look takes the driver some 0.1 ms

}  // namespace

void append_spans(std::span<const double> seconds, double end, std::vector<TimeSpan>& spans) {
  double begin = std::accumulate(seconds.begin(), seconds.end(), end, std::minus<>());
  for (const double one : seconds) {
    spans.push_back({begin, begin + one});
    begin += one;
  }
}

struct DeviceWatch::Looker {
  Looker(const std::string& uuid, const std::string& library)
      : nvml(library), card(nvml.find(uuid)) {
    if (card != nullptr) thread = std::thread([this] { run(); });
  }
  ~Looker() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  DeviceReading look() const {
    return {.seconds = local_seconds(),
            .clock_mhz = nvml.clock_mhz(card),
            .watts = nvml.watts(card),
            .celsius = nvml.celsius(card),
            .reasons = nvml.clock_reasons(card)};
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!stopped) {
      lock.unlock();
      const DeviceReading seen = look();
      lock.lock();
      readings.push_back(seen);
      wake.wait_for(lock, kPause, [this] { return stopped; });
    }
  }

  /// All so far; the last one stays, as the nearest to what comes next.
  std::vector<DeviceReading> take() {
    const std::lock_guard lock(mutex);
    std::vector<DeviceReading> taken = std::move(readings);
    readings.clear();
    if (!taken.empty()) readings.push_back(taken.back());
    return taken;
  }

  Nvml nvml;
  Nvml::Device card;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::vector<DeviceReading> readings;
  std::thread thread;  // the last: it uses all of the above
};

DeviceWatch::DeviceWatch(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return;
  looker_ = std::make_unique<Looker>(uuid, library);
  if (looker_->card == nullptr) looker_.reset();
}

DeviceWatch::~DeviceWatch() = default;

bool DeviceWatch::sees() const { return looker_ != nullptr; }

std::vector<DeviceSpell> DeviceWatch::spells(std::span<const TimeSpan> spans) {
  std::vector<DeviceSpell> spells;
  if (!sees()) return spells;
  const std::vector<DeviceReading> readings = looker_->take();
  for (const TimeSpan& span : spans) spells.push_back(spell_of(readings, span.begin, span.end));
  return spells;
}

}  // namespace scalebench
