// SPDX-License-Identifier: Apache-2.0
#include "bench/device_spell.hpp"

#include <algorithm>
#include <cmath>

#include "bench/measure/statistics.hpp"
#include "bench/record/clock_reasons.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

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

double highest(const std::vector<double>& values) {
  return values.empty() ? kUnknown : std::ranges::max(values);
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

}  // namespace

DeviceSpell spell_of(std::span<const DeviceReading> readings, double begin, double end) {
  const std::span<const DeviceReading> count = that_count(readings, begin, end);
  return {.clock_mhz = mean(known(count, &DeviceReading::clock_mhz)),
          .watts = mean(known(count, &DeviceReading::watts)),
          .celsius = highest(known(count, &DeviceReading::celsius)),
          .reasons = all_reasons(count)};
}

DeviceSpell worst_of(std::span<const DeviceSpell> cards) {
  const std::vector<double> clocks = known(cards, &DeviceSpell::clock_mhz);
  return {.clock_mhz = clocks.empty() ? kUnknown : std::ranges::min(clocks),
          .watts = mean(known(cards, &DeviceSpell::watts)),
          .celsius = highest(known(cards, &DeviceSpell::celsius)),
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
  summary.celsius = highest(known(repetitions, &DeviceSpell::celsius));
  return summary;
}

}  // namespace scalebench
