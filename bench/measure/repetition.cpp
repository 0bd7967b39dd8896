// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/repetition.hpp"

#include <algorithm>
#include <cmath>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kBatch = 10;  // repetitions between two decisions

struct Stamps {
  double start = 0;
  double end = 0;
  double late = 0;  // seconds after the agreed instant
};

class Timer {
 public:
  Timer(Communicator& host, const std::function<void()>& prepare,
        const std::function<void()>& operation, StartMode start)
      : host_(host), prepare_(prepare), operation_(operation), clock_(host), start_(start) {}

  /// Local duration of one operation without any agreement on its start.
  double run_alone() {
    prepare_();
    const double begin = local_seconds();
    operation_();
    return local_seconds() - begin;
  }

  /// The same after a barrier, as the slowest rank saw it: shared by all ranks.
  double run_slowest() {
    host_.barrier();
    return std::ranges::max(all_gather(host_, run_alone()));
  }

  /// Ten operations back to back; the median of each, slowest rank: shared by all ranks.
  double median_of_batch() {
    std::vector<double> seconds(kBatch);
    host_.barrier();
    for (double& value : seconds) value = run_alone();
    return std::ranges::max(all_gather(host_, median_of(seconds)));
  }

  double residual_seconds() const { return clock_.residual_seconds(); }
  StartMode start_mode() const { return start_; }
  void fall_back_to_barrier() { start_ = StartMode::barrier; }

  /// One repetition as this rank saw it. `lead`: how far ahead rank 0 names the common instant.
  Stamps run_together(double lead) {
    prepare_();
    Stamps stamps;
    host_.barrier();
    if (start_ == StartMode::clock) {
      double instant = clock_.now() + lead;
      broadcast(host_, span_of(std::span(&instant, 1)), 0);
      do {
        stamps.start = clock_.now();
      } while (stamps.start < instant);
      stamps.late = stamps.start - instant;
    } else {
      // The first barrier's exits are skewed by its own messages; a second one starts from nearer.
      host_.barrier();
      stamps.start = clock_.now();
    }
    operation_();
    stamps.end = clock_.now();
    return stamps;
  }

  /// From ten probes: three times what it takes to tell every rank the instant.
  double measure_lead() {
    std::vector<double> probes(kBatch);
    for (double& probe : probes) {
      double value = 0;
      host_.barrier();
      const double begin = local_seconds();
      broadcast(host_, span_of(std::span(&value, 1)), 0);
      probe = local_seconds() - begin;
    }
    return 3 * std::ranges::max(all_gather(host_, median_of(probes)));
  }

 private:
  Communicator& host_;
  const std::function<void()>& prepare_;
  const std::function<void()>& operation_;
  GlobalClock clock_;
  StartMode start_;
};

struct WarmUp {
  double seconds = 0;  // median of the last group
  bool steady = true;
};

WarmUp warm_up(Communicator& host, Timer& timer, const WarmUpRule& rule) {
  if (rule.fixed >= 0) {
    for (int i = 0; i < rule.fixed; ++i) timer.run_alone();
    return {timer.run_slowest(), true};
  }
  double begin = local_seconds();
  double before = timer.median_of_batch();
  for (int done = static_cast<int>(kBatch);; done += static_cast<int>(kBatch)) {
    // Ranks decide on rank 0's clock, so that none leaves the loop alone.
    double elapsed = local_seconds() - begin;
    broadcast(host, span_of(std::span(&elapsed, 1)), 0);
    const double now = timer.median_of_batch();
    const bool steady = std::abs(now - before) < 0.05 * before;
    before = now;
    if (steady && done >= rule.at_least && elapsed >= rule.at_least_seconds) return {now, true};
    if (elapsed >= rule.at_most_seconds) return {now, steady};
    if (done >= rule.at_most && elapsed >= rule.at_least_seconds) return {now, steady};
  }
}

/// Joins the ranks' stamps of a batch into repetitions; late ones are counted and left out.
void join(Communicator& host, std::span<const Stamps> batch, StartMode mode, double tolerance,
          Timing& timing) {
  std::vector<double> mine;
  for (const Stamps& stamps : batch) {
    mine.insert(mine.end(), {stamps.start, stamps.end, stamps.late});
  }
  const std::vector<double> all = all_gather(host, mine);
  const auto ranks = static_cast<std::size_t>(host.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::vector<double> starts, ends, durations;
    double late = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double* of_rank = &all[rank * mine.size() + 3 * i];
      starts.push_back(of_rank[0]);
      ends.push_back(of_rank[1]);
      durations.push_back(of_rank[1] - of_rank[0]);
      late = std::max(late, of_rank[2]);
    }
    if (late > tolerance) {
      ++timing.redone;
      continue;
    }
    // Behind a barrier the clocks may disagree: then only durations of one rank can be believed.
    const auto& last = mode == StartMode::clock ? ends : durations;
    const auto slowest = std::ranges::max_element(last);
    const double seconds =
        mode == StartMode::clock ? *slowest - std::ranges::min(starts) : *slowest;
    timing.repetitions.push_back(
        {seconds, *slowest - std::ranges::min(last), static_cast<int>(slowest - last.begin())});
  }
}

}  // namespace

std::string_view name_of(StartMode mode) { return mode == StartMode::clock ? "clock" : "barrier"; }

Timing time_collective(Communicator& host, const std::function<void()>& prepare,
                       const std::function<void()>& operation, const WarmUpRule& warm_up_rule,
                       const StopRule& stop, StartMode start) {
  Timing timing;
  Timer timer(host, prepare, operation, start);
  timing.first_call_seconds = timer.run_slowest();
  const WarmUp warm = warm_up(host, timer, warm_up_rule);
  timing.warm = warm.steady;
  // Clocks that disagree by more than 5 % of the time itself cannot define a common start.
  if (timer.residual_seconds() > 0.05 * warm.seconds) timer.fall_back_to_barrier();

  const double lead = timer.measure_lead();
  const double tolerance = std::max(2e-6, 0.02 * warm.seconds);
  double begin = local_seconds();
  while (true) {
    const std::size_t wanted =
        stop.fixed > 0 ? std::min(kBatch, stop.fixed - timing.repetitions.size()) : kBatch;
    std::vector<Stamps> batch(wanted);
    for (Stamps& stamps : batch) stamps = timer.run_together(lead);
    join(host, batch, timer.start_mode(), tolerance, timing);
    // More voided than kept: these ranks cannot start on time (they share a core, say).
    if (timing.redone > 2 * kBatch && timing.redone > timing.repetitions.size()) {
      timing.repetitions.clear();
      timer.fall_back_to_barrier();
      timing.redone = 0;
    }
    double elapsed = local_seconds() - begin;
    broadcast(host, span_of(std::span(&elapsed, 1)), 0);
    std::vector<double> seconds;
    for (const Repetition& repetition : timing.repetitions) seconds.push_back(repetition.seconds);
    const StopRule::Decision decision = stop.decide(seconds, elapsed);
    if (decision.stop) {
      timing.converged = decision.converged;
      timing.start = timer.start_mode();
      return timing;
    }
  }
}

}  // namespace scalebench
