// SPDX-License-Identifier: Apache-2.0
#include "bench/program/card_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "bench/machine/host_load.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/program/program.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void set_spell(ResultRow& sample, const DeviceSpell& spell) {
  sample.set("sm_clock_mhz", spell.clock_mhz);
  if (!spell.reasons) return;
  sample.set("throttle_reasons", throttle_reasons(*spell.reasons));
}

void set_spells(ResultRow& row, std::span<const DeviceSpell> repetitions) {
  const DeviceSummary summary = summary_of(repetitions);
  row.set("throttled_share", summary.throttled_share);
  if (!row.schema().has("gpu_watts")) return;
  row.set("sm_clock_mhz", summary.clock_mhz).set("gpu_watts", summary.watts);
  row.set("power_capped_share", summary.power_capped_share);
}

void set_spells_of_cards(ResultRow& row, std::span<const std::vector<DeviceSpell>> cards) {
  std::vector<DeviceSpell> all;
  double watts = 0;
  for (const std::vector<DeviceSpell>& card : cards) {
    all.insert(all.end(), card.begin(), card.end());
    watts += summary_of(card).watts / static_cast<double>(cards.size());
  }
  set_spells(row, all);
  row.set("gpu_watts", cards.empty() ? kUnknown : watts);
}

namespace {

/// The values that are known.
template <class Items, class Member>
std::vector<double> known(const Items& items, Member member) {
  std::vector<double> values;
  for (const auto& item : items) {
    if (!std::isnan(item.*member)) values.push_back(item.*member);
  }
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kUnknown : sum / static_cast<double>(values.size());
}

template <class Items>
std::optional<std::uint64_t> all_reasons(const Items& items) {
  std::optional<std::uint64_t> all;
  for (const auto& item : items) {
    if (item.reasons) all = all.value_or(0) | *item.reasons;
  }
  return all;
}

/// Those within the span, or the one that is nearest to it.
std::span<const DeviceReading> that_count(std::span<const DeviceReading> readings, double begin,
                                          double end) {
  const auto at = [&](double time) {
    return std::ranges::lower_bound(readings, time, {}, &DeviceReading::seconds);
  };
  const auto first = at(begin);
  const auto last = at(end);
  if (first != last) return {first, last};
  const double before =
      first == readings.begin() ? kReadingHolds * 2 : begin - (first - 1)->seconds;
  const double after = first == readings.end() ? kReadingHolds * 2 : first->seconds - end;
  if (std::min(before, after) > kReadingHolds) return {};
  return {before <= after ? first - 1 : first, 1};
}

constexpr std::chrono::milliseconds kPause{25};  // a look takes the driver some 0.1 ms

constexpr std::size_t kNumbers = 3;  // of a spell

}  // namespace

std::size_t set_watts(std::span<DeviceReading> readings) {
  std::size_t step = 0;  // the first reading may lie within one
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const double added = readings[i].joules - readings[i - 1].joules;
    if (added == 0) continue;
    // A counter that went back, or a look that failed, begins anew.
    const bool counts = added > 0 && step > 0;
    const double watts = counts ? (readings[i].joules - readings[step].joules) /
                                      (readings[i].seconds - readings[step].seconds)
                                : kUnknown;
    for (std::size_t j = step + 1; counts && j <= i; ++j) readings[j].watts = watts;
    step = added > 0 ? i : 0;
  }
  return step;
}

DeviceSpell spell_of(std::span<const DeviceReading> readings, double begin, double end) {
  const std::span<const DeviceReading> count = that_count(readings, begin, end);
  return {.clock_mhz = mean(known(count, &DeviceReading::clock_mhz)),
          .watts = mean(known(count, &DeviceReading::watts)),
          .reasons = all_reasons(count)};
}

DeviceSpell worst_of(std::span<const DeviceSpell> cards) {
  const std::vector<double> clocks = known(cards, &DeviceSpell::clock_mhz);
  return {.clock_mhz = clocks.empty() ? kUnknown : std::ranges::min(clocks),
          .watts = mean(known(cards, &DeviceSpell::watts)),
          .reasons = all_reasons(cards)};
}

DeviceSummary summary_of(std::span<const DeviceSpell> repetitions) {
  DeviceSummary summary;
  double told = 0, throttled = 0, capped = 0;
  for (const DeviceSpell& spell : repetitions) {
    if (!spell.reasons) continue;
    ++told;
    throttled += is_throttled(*spell.reasons) ? 1 : 0;
    capped += is_power_capped(*spell.reasons) ? 1 : 0;
  }
  if (told > 0) {
    summary.throttled_share = throttled / told;
    summary.power_capped_share = capped / told;
  }
  const std::vector<double> clocks = known(repetitions, &DeviceSpell::clock_mhz);
  if (!clocks.empty()) summary.clock_mhz = median_of(clocks);
  summary.watts = mean(known(repetitions, &DeviceSpell::watts));
  return summary;
}

void append_spans(std::span<const double> seconds, double end, std::vector<TimeSpan>& spans) {
  double begin = std::accumulate(seconds.begin(), seconds.end(), end, std::minus<>());
  for (const double one : seconds) {
    spans.push_back({begin, begin + one});
    begin += one;
  }
}

struct DeviceWatch::Looker {
  Looker(const std::string& uuid, const std::string& library)
      : nvml(library), found(nvml.find(uuid)) {
    if (found.card != nullptr) thread = std::thread([this] { run(); });
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
    const bool whole = found.slice == nullptr;  // what other slices use is not this one's
    const auto [joules, at] = with_its_time(
        2e-3, [&] { return whole ? nvml.joules(found.card).value_or(kUnknown) : kUnknown; });
    return {.seconds = at,
            .clock_mhz = nvml.clock_mhz(found.card),
            .watts = whole && std::isnan(joules) ? nvml.watts(found.card) : kUnknown,
            .reasons = nvml.clock_reasons(found.card),
            .joules = joules};
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

  /// All so far; the last one stays, as the nearest to what comes next, and so do those whose watts
  /// the next ones tell.
  std::vector<DeviceReading> take() {
    const std::lock_guard lock(mutex);
    const std::size_t step = set_watts(readings);
    std::vector<DeviceReading> taken = readings;
    if (!readings.empty()) {
      const std::size_t keep = step > 0 ? step - 1 : readings.size() - 1;
      readings.erase(readings.begin(), readings.begin() + static_cast<std::ptrdiff_t>(keep));
    }
    return taken;
  }

  Nvml nvml;
  const Nvml::Found found;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::vector<DeviceReading> readings;
  std::thread thread;  // the last: it uses all of the above
};

DeviceWatch::DeviceWatch(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return;
  looker_ = std::make_unique<Looker>(uuid, library);
  if (looker_->found.card == nullptr) looker_.reset();
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

std::vector<std::vector<DeviceSpell>> all_spells(Communicator& host,
                                                 const std::vector<DeviceSpell>& mine) {
  std::vector<double> numbers;
  for (const DeviceSpell& spell : mine) {
    // The driver's bits are few: a double holds them exactly.
    const double bits = spell.reasons ? static_cast<double>(*spell.reasons) : std::nan("");
    numbers.insert(numbers.end(), {spell.clock_mhz, spell.watts, bits});
  }
  std::vector<std::vector<DeviceSpell>> by_rank;
  for (const std::vector<double>& of_rank : gather_lists(host, std::move(numbers))) {
    std::vector<DeviceSpell>& spells = by_rank.emplace_back();
    for (std::size_t i = 0; i < of_rank.size(); i += kNumbers) {
      DeviceSpell& spell = spells.emplace_back();
      spell.clock_mhz = of_rank[i];
      spell.watts = of_rank[i + 1];
      if (!std::isnan(of_rank[i + 2])) spell.reasons = static_cast<std::uint64_t>(of_rank[i + 2]);
    }
  }
  return by_rank;
}

std::vector<DeviceSpell> worst_spells(Communicator& host, const std::vector<DeviceSpell>& mine) {
  const std::vector<std::vector<DeviceSpell>> by_rank = all_spells(host, mine);
  std::vector<DeviceSpell> worst;
  while (true) {
    std::vector<DeviceSpell> cards;
    for (const std::vector<DeviceSpell>& of_rank : by_rank) {
      if (worst.size() < of_rank.size()) cards.push_back(of_rank[worst.size()]);
    }
    if (cards.empty()) return worst;
    worst.push_back(worst_of(cards));
  }
}

}  // namespace scalebench
