// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/bound.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <vector>

#include "bench/measure/clock.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"
#include "kernels/elementwise.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kSmallest = std::size_t{64} << 10U;

struct Kernel {
  std::string_view name;
  double moved;  // bytes for each byte of the footprint
  std::function<void(Span)> run;
};

/// Each touches the whole span once; zeros stay zeros.
void combine_halves(Span span, Stores stores) {
  const std::size_t half = span.count / 2;
  const std::array<Span, 2> halves{span.part(0, half), span.part(half, half)};
  const std::array<ConstSpan, 2> sources{halves[0], halves[1]};
  combine(sources, halves, ReduceOp::sum, stores);
}

/// Each touches the whole span once; zeros stay zeros.
std::array<Kernel, 4> kernels() {
  return {{{"scale", 2, [](Span span) { scale(span, 0.5); }},
           {"copy", 1,
            [](Span span) {
              const std::size_t half = span.count / 2;
              stream_copy(span.part(0, half), span.part(half, half));
            }},
           {"combine", 2, [](Span span) { combine_halves(span, Stores::cached); }},
           {"combine_streaming", 2, [](Span span) { combine_halves(span, Stores::streaming); }}}};
}

/// Seconds of the slowest rank for one pass; the median of a few. The same on all ranks.
double seconds_of(Communicator& host, const Kernel& kernel, Span span) {
  constexpr double kSecondsAKernel = 0.02;
  constexpr double kFewest = 3, kMost = 15;
  // Passes that are too short for a barrier's skew go several in a row.
  const std::size_t passes = std::max<std::size_t>(1, (std::size_t{1} << 20U) / span.bytes());
  const auto once = [&] {
    host.barrier();
    const double begin = local_seconds();
    for (std::size_t i = 0; i < passes; ++i) kernel.run(span);
    return (local_seconds() - begin) / static_cast<double>(passes);
  };
  const double first = std::ranges::max(all_gather(host, once())) * static_cast<double>(passes);
  const double wanted = std::clamp(kSecondsAKernel / first, kFewest, kMost);
  // A last-level cache takes several passes to fill as it will stay.
  const double unmeasured = std::clamp(kSecondsAKernel / 2 / first, 1.0, kMost);
  for (std::size_t i = 0; i < static_cast<std::size_t>(unmeasured); ++i) once();
  std::vector<double> mine;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i) mine.push_back(once());
  const std::vector<double> all = all_gather(host, mine);
  std::vector<double> slowest = mine;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double& of_pass = slowest[i % mine.size()];
    of_pass = std::max(of_pass, all[i]);
  }
  return median_of(slowest);
}

double rank_0_seconds(Communicator& host) {
  double now = local_seconds();
  broadcast(host, span_of(std::span(&now, 1)), 0);
  return now;
}

}  // namespace

void AllreduceBound::measure(std::size_t size) {
  const std::size_t bytes = std::bit_floor(size);
  if (bytes < kSmallest || host_.size() == 1) return;
  // Measuring again takes one part in thirty of the time at most.
  constexpr double kFresh = 30, kFreshSeconds = 3;
  const double begin = rank_0_seconds(host_);
  const auto known = points_.find(bytes);
  if (known == points_.end() && budget_seconds_ <= 0) return;
  if (known != points_.end()) {
    const BoundPoint& point = known->second;
    const double age = begin - point.measured_at;
    if (age < kFreshSeconds || age < kFresh * point.cost_seconds) return;
  }
  BoundPoint& point = points_[bytes];
  const Span span = buffers_.front(bytes / sizeof(float), DType::float32);
  const std::string_view only = point.kernel;
  point.bytes_per_second = 0;
  for (const Kernel& kernel : kernels()) {
    if (!only.empty() && kernel.name != only) continue;
    const double seconds = seconds_of(host_, kernel, span);
    const double rate = kernel.moved * static_cast<double>(bytes) * host_.size() / seconds;
    if (rate <= point.bytes_per_second) continue;
    point.kernel = kernel.name;
    point.bytes_per_second = rate;
  }
  point.measured_at = rank_0_seconds(host_);
  point.cost_seconds = point.measured_at - begin;
  budget_seconds_ -= only.empty() ? point.cost_seconds : 0;
}

double AllreduceBound::seconds(std::size_t bytes) const {
  const auto above = points_.upper_bound(bytes);
  if (above == points_.begin()) return std::numeric_limits<double>::quiet_NaN();
  const BoundPoint& point = std::prev(above)->second;
  return 2.0 * static_cast<double>(bytes) * host_.size() / point.bytes_per_second;
}

}  // namespace scalebench
