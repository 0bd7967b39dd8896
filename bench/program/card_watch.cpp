// SPDX-License-Identifier: Apache-2.0
#include "bench/program/card_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/machine/host_load.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLookHolds = 0.1;               // seconds
constexpr std::chrono::milliseconds kPause{25};  // a look takes the driver some 0.1 ms

/// Seconds between a look and the nearest of the spans; 0 within one.
double distance_to(std::span<const TimeSpan> spans, double seconds) {
  double least = std::numeric_limits<double>::infinity();
  for (const TimeSpan& span : spans) {
    least = std::min(least, std::max({0.0, span.begin - seconds, seconds - span.end}));
  }
  return least;
}

std::vector<CardLook> looks_that_count(std::span<const CardLook> looks,
                                       std::span<const TimeSpan> spans) {
  const auto distance = [&](const CardLook& look) { return distance_to(spans, look.seconds); };
  std::vector<CardLook> count;
  for (const CardLook& look : looks) {
    if (distance(look) == 0) count.push_back(look);
  }
  if (!count.empty() || looks.empty()) return count;
  const CardLook& nearest = std::ranges::min(looks, {}, distance);
  if (distance(nearest) <= kLookHolds) count.push_back(nearest);
  return count;
}

/// By the counter of energy, which moves in steps of some 20 to 100 ms: from the first step that is
/// seen in a span to its last.
double counted_watts(std::span<const CardLook> looks, std::span<const TimeSpan> spans) {
  double joules = 0, seconds = 0;
  for (const TimeSpan& span : spans) {
    const CardLook *before = nullptr, *step = nullptr;
    for (const CardLook& look : looks) {
      if (look.seconds < span.begin || look.seconds > span.end) continue;
      if (before != nullptr && !(look.joules >= before->joules)) return kUnknown;
      if (before != nullptr && look.joules > before->joules) {
        if (step != nullptr) {
          joules += look.joules - step->joules;
          seconds += look.seconds - step->seconds;
        }
        step = &look;
      }
      before = &look;
    }
  }
  return seconds > 0 ? joules / seconds : kUnknown;
}

/// The values that are known.
std::vector<double> known(std::span<const CardLook> looks, double CardLook::*value) {
  std::vector<double> values;
  for (const CardLook& look : looks) {
    if (!std::isnan(look.*value)) values.push_back(look.*value);
  }
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

CardSummary summary_of(std::span<const CardLook> looks, std::span<const TimeSpan> spans) {
  const std::vector<CardLook> count = looks_that_count(looks, spans);
  CardSummary summary;
  const std::vector<double> clocks = known(count, &CardLook::clock_mhz);
  if (!clocks.empty()) summary.clock_mhz = median_of(clocks);
  const bool counts = !known(count, &CardLook::joules).empty();
  summary.watts = counts ? counted_watts(looks, spans) : mean(known(count, &CardLook::watts));
  std::vector<double> throttled, capped;
  for (const CardLook& look : count) {
    if (!look.reasons) continue;
    throttled.push_back(is_throttled(*look.reasons) ? 1 : 0);
    capped.push_back(is_power_capped(*look.reasons) ? 1 : 0);
  }
  summary.throttled_share = mean(throttled);
  summary.power_capped_share = mean(capped);
  return summary;
}

CardSummary mean_of(std::span<const CardSummary> cards) {
  const auto of_all = [&](double CardSummary::*value) {
    std::vector<double> values;
    for (const CardSummary& card : cards) values.push_back(card.*value);
    return mean(values);
  };
  return {of_all(&CardSummary::clock_mhz), of_all(&CardSummary::throttled_share),
          of_all(&CardSummary::power_capped_share), of_all(&CardSummary::watts)};
}

void set_card(ResultRow& row, const CardSummary& card) {
  row.set("throttled_share", card.throttled_share);
  if (!row.schema().has("gpu_watts")) return;
  row.set("sm_clock_mhz", card.clock_mhz).set("gpu_watts", card.watts);
  row.set("power_capped_share", card.power_capped_share);
}

struct DeviceWatch::Looker {
  Looker(const std::string& uuid, const std::string& library)
      : nvml(library), found(nvml.find(uuid)) {
    if (found.card == nullptr) return;
    thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  CardLook look() const {
    const bool whole = found.slice == nullptr;  // what other slices use is not this one's
    const auto [joules, at] = with_its_time(
        2e-3, [&] { return whole ? nvml.joules(found.card).value_or(kUnknown) : kUnknown; });
    return {.seconds = at,
            .clock_mhz = nvml.clock_mhz(found.card),
            .watts = whole && std::isnan(joules) ? nvml.watts(found.card) : kUnknown,
            .joules = joules,
            .reasons = nvml.clock_reasons(found.card)};
  }

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      lock.unlock();
      const CardLook seen = look();
      lock.lock();
      looks.push_back(seen);
      wake.wait_for(lock, stop, kPause, [] { return false; });
    }
  }

  Nvml nvml;
  const Nvml::Found found;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::vector<CardLook> looks;
  std::jthread thread;  // the last: it uses all of the above
};

DeviceWatch::DeviceWatch(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return;
  looker_ = std::make_unique<Looker>(uuid, library);
  if (looker_->found.card == nullptr) looker_.reset();
}

DeviceWatch::~DeviceWatch() = default;

CardSummary DeviceWatch::during(std::span<const TimeSpan> spans) {
  if (looker_ == nullptr) return {};
  const std::lock_guard lock(looker_->mutex);
  std::vector<CardLook>& looks = looker_->looks;
  const CardSummary summary = summary_of(looks, spans);
  if (!looks.empty()) looks.erase(looks.begin(), looks.end() - 1);
  return summary;
}

}  // namespace scalebench
