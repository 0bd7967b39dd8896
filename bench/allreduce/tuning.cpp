// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/tuning.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// The first calls of shorter ones take several times as long as the later ones.
constexpr double kShortSeconds = 2e-5;
/// Operations at least this long are timed between barriers; the clock's care is for shorter ones.
constexpr double kLongSeconds = 1e-3;
/// A long one that takes this many times as long as the best so far is not looked at again.
constexpr double kHopeless = 4;
/// Shorter ones that take less than so many times as long as the best are looked at again, by
/// turns: what disturbed one of them for a while then counts for nothing.
constexpr double kNear = 1.5;
constexpr int kLooks = 3;
/// When the trial has taken this long, only so many of those that are fast at large sizes go on.
constexpr double kPatienceSeconds = 0.5;
constexpr std::size_t kLarge = std::size_t{1} << 20U;
constexpr std::size_t kFinalists = 3;

/// Every power of two where transports change their ways and a case costs little.
std::size_t step_after(std::size_t bytes) { return bytes < 4 * kLarge ? 2 : 4; }

/// The slowest rank's seconds, the same on all ranks.
double seconds_once(const AllreduceBench& bench, Communicator& host, const AllreduceCase& one) {
  const AllreduceSpans spans = bench.buffers.slot(one, 0);
  host.barrier();
  const double begin = local_seconds();
  bench.run(one, spans);
  bench.wait();
  return std::ranges::max(all_gather(host, local_seconds() - begin));
}

/// Median seconds of one algorithm at one size; empty when it does not work here, or is no rival of
/// one that takes `best`.
std::optional<double> seconds_of(const AllreduceBench& bench, Communicator& host,
                                 const AllreduceCase& one, const AllreduceMethod& method,
                                 double best) {
  double warm = 0;
  try {
    seconds_once(bench, host, one);
    warm = seconds_once(bench, host, one);
    // Hopeless at one look may be a rank that had no core for a moment.
    if (warm > std::max(kLongSeconds, kHopeless * best)) {
      warm = std::min(warm, seconds_once(bench, host, one));
    }
    if (warm > kLongSeconds) {
      if (warm > kHopeless * best) return std::nullopt;
      const std::array<double, 3> seconds{warm, seconds_once(bench, host, one),
                                          seconds_once(bench, host, one)};
      return median_of(seconds);
    }
  } catch (const Unavailable&) {
    return std::nullopt;
  }
  AllreduceMethod brief = method;
  brief.repetitions = 15;
  brief.capped = false;
  brief.warm_up.fixed = warm > kShortSeconds ? 2 : 50;
  brief.checks = 0;
  brief.graph = false;
  std::vector<double> seconds;
  for (const Repetition& repetition : measure_allreduce(bench, one, brief).timing.repetitions) {
    seconds.push_back(repetition.seconds);
  }
  return median_of(seconds);
}

}  // namespace

SharedChoices tune(const AllreduceBench& bench, Communicator& host, const AllreduceSetting& setting,
                   const AllreduceMethod& method, std::size_t smallest_bytes,
                   std::size_t largest_bytes) {
  std::vector<const AllreduceAlgorithm*> rivals;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (!algorithm.chooses()) rivals.push_back(&algorithm);
  }
  std::vector<MeasuredAllreduce> measured;
  AllreduceCase one;
  one.dtype = setting.dtype;
  one.op = setting.op;
  const double begin = local_seconds();
  for (std::size_t bytes = std::max<std::size_t>(smallest_bytes, 8);; bytes *= step_after(bytes)) {
    bytes = std::min(bytes, largest_bytes);
    one.count = bytes / size_of(one.dtype);
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::pair<double, const AllreduceAlgorithm*>> results;
    for (const AllreduceAlgorithm* algorithm : rivals) {
      one.algorithm = algorithm;
      const auto seconds = seconds_of(bench, host, one, method, best);
      if (!seconds) continue;
      best = std::min(best, *seconds);
      measured.push_back({std::string(algorithm->name), bytes, *seconds});
      results.emplace_back(*seconds, algorithm);
    }
    for (int look = 1; look < kLooks && best <= kLongSeconds; ++look) {
      for (const auto& [first, algorithm] : results) {
        if (first > kNear * best) continue;
        one.algorithm = algorithm;
        const auto seconds = seconds_of(bench, host, one, method, best);
        if (seconds) measured.push_back({std::string(algorithm->name), bytes, *seconds});
      }
    }
    if (bytes == largest_bytes) break;
    double spent = local_seconds() - begin;
    broadcast(host, span_of(std::span(&spent, 1)), 0);
    if (bytes >= kLarge && spent > kPatienceSeconds && results.size() > kFinalists) {
      std::ranges::sort(results);
      rivals.clear();
      for (std::size_t i = 0; i < kFinalists; ++i) rivals.push_back(results[i].second);
    }
  }
  return std::make_shared<const AllreduceChoices>(measured);
}

}  // namespace scalebench
