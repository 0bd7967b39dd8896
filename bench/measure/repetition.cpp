// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/repetition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr double kLongestLead = 0.001;  // a rank that is not told by then will not be in time

/// Collective: no rank leaves before all have entered. ceil(log2 ranks) rounds in which every rank
/// sends and receives, so that ranks leave closer together than behind a tree with a root.
void dissemination_barrier(Communicator& host) {
  double out = 0;
  double in = 0;
  const int ranks = host.size();
  for (int distance = 1; distance < ranks; distance *= 2) {
    host.exchange(span_of(std::span(&out, 1)), (host.rank() + distance) % ranks,
                  span_of(std::span(&in, 1)), (host.rank() + ranks - distance) % ranks);
  }
}

/// Collective: how far ahead rank 0 must name an instant, three times what telling it takes.
double measure_lead_seconds(Communicator& host) {
  std::vector<double> probes(10);
  for (double& probe : probes) {
    double value = 0;
    host.barrier();
    const double begin = local_seconds();
    broadcast(host, span_of(std::span(&value, 1)), 0);
    probe = local_seconds() - begin;
  }
  return 3 * std::ranges::max(all_gather(host, median_of(probes)));
}

/// Collective: two readings of the clock in a row, on the rank where that takes longest.
double measure_clock_pair_seconds(Communicator& host, const GlobalClock& clock) {
  constexpr int kPairs = 200;
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double begin = clock.now();
    for (int i = 1; i < 2 * kPairs; ++i) clock.now();
    best = std::min(best, (clock.now() - begin) / kPairs);
  }
  return std::ranges::max(all_gather(host, best));
}

struct Stamps {
  double start = 0;
  double end = 0;
  double late = 0;  // seconds after the agreed instant
};

/// The repetitions of one cell.
class Cell {
 public:
  Cell(Communicator& host, const GlobalClock& clock, const CollectiveOperation& operation,
       TimingMode mode, double clock_pair, double seconds, Timing& timing)
      : host_(host),
        clock_(clock),
        operation_(operation),
        mode_(mode),
        clock_pair_(clock_pair),
        timing_(timing),
        repetition_seconds_(seconds * static_cast<double>(timing.operations)) {}

  double repetition_seconds() const { return repetition_seconds_; }
  std::span<const double> seconds() const { return seconds_; }

  /// One repetition as this rank saw it. `lead`: how far ahead rank 0 names the common instant.
  Stamps run(double lead) {
    operation_.prepare();
    Stamps stamps;
    if (timing_.start == StartMode::clock) {
      host_.barrier();
      double instant = clock_.now() + lead;
      broadcast(host_, span_of(std::span(&instant, 1)), 0);
      do {
        stamps.start = clock_.now();
      } while (stamps.start < instant);
      stamps.late = stamps.start - instant;
    } else {
      // The first barrier's exits are skewed by when ranks came; a second one starts from nearer.
      dissemination_barrier(host_);
      dissemination_barrier(host_);
      stamps.start = clock_.now();
    }
    for (std::size_t i = 0; i < timing_.operations; ++i) {
      operation_.enqueue();
      if (mode_ == TimingMode::isolated) operation_.wait();
    }
    if (mode_ == TimingMode::pipelined) operation_.wait();
    stamps.end = clock_.now();
    return stamps;
  }

  struct Joined {
    std::size_t voided = 0;
    double elapsed = 0;  // rank 0's
  };
  /// Joins the ranks' stamps into repetitions; late ones are counted and left out. The same on all
  /// ranks, as is rank 0's `elapsed`.
  Joined join(std::span<const Stamps> batch, double elapsed) {
    std::vector<double> mine{elapsed};
    for (const Stamps& stamps : batch) {
      mine.insert(mine.end(), {stamps.start, stamps.end, stamps.late});
    }
    const std::vector<double> all = all_gather(host_, mine);
    const double tolerance = std::max(4 * clock_pair_, 0.02 * repetition_seconds_);
    Joined joined{0, all[0]};
    std::vector<Stamps> of_rank(static_cast<std::size_t>(host_.size()));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
        const double* values = &all[rank * mine.size() + 1 + 3 * i];
        of_rank[rank] = {values[0], values[1], values[2]};
      }
      if (std::ranges::max(of_rank, {}, &Stamps::late).late > tolerance) {
        ++joined.voided;
      } else {
        keep(of_rank);
      }
    }
    timing_.redone += joined.voided;
    return joined;
  }

  void fall_back_to_barrier() {
    timing_.start = StartMode::barrier;
    timing_.repetitions.clear();
    seconds_.clear();
  }

 private:
  void keep(std::span<const Stamps> of_rank) {
    const double first = std::ranges::min(of_rank, {}, &Stamps::start).start;
    Repetition repetition;
    repetition.start = first;
    repetition.end = std::ranges::max(of_rank, {}, &Stamps::end).end;
    double last = 0;
    double earliest = 0;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      // Behind a barrier the clocks may disagree: then only durations of one rank can be believed.
      const double since = timing_.start == StartMode::clock ? first : of_rank[rank].start;
      const double seconds = (of_rank[rank].end - since) / static_cast<double>(timing_.operations);
      repetition.rank_seconds.push_back(static_cast<float>(seconds));
      if (rank == 0 || seconds > last) {
        last = seconds;
        repetition.slowest_rank = static_cast<int>(rank);
      }
      earliest = rank == 0 ? seconds : std::min(earliest, seconds);
    }
    repetition.seconds = last;
    repetition.skew_seconds = last - earliest;
    seconds_.push_back(last);
    timing_.repetitions.push_back(std::move(repetition));
  }

  Communicator& host_;
  const GlobalClock& clock_;
  const CollectiveOperation& operation_;
  const TimingMode mode_;
  const double clock_pair_;
  Timing& timing_;
  const double repetition_seconds_;  // as the warm-up foretells
  std::vector<double> seconds_;      // of timing_.repetitions
};

/// Where the repetitions are cut, from values that all ranks share. What disturbs a machine lasts
/// longer than a part: it then hits what is measured beside, too.
class Parts {
 public:
  explicit Parts(const TimingMethod& method)
      : next_(method.next_part),
        seconds_(method.stop.at_most_seconds / TimingMethod::kParts),
        repetitions_(parts_of(method.stop.fixed > 0 ? method.stop.fixed : method.stop.at_most)) {}

  /// Of this part, where there are any: at most so many more.
  std::size_t repetitions_left(std::size_t done) const {
    return next_ ? begin_ + repetitions_ - done : std::numeric_limits<std::size_t>::max();
  }

  /// Too few to believe in a narrow interval: all may lie in one state of the machine.
  bool too_few() const { return next_ && ended_ + 1 < TimingMethod::kParts; }

  /// Begins the next one where this one is over; returns the seconds that were waited for it.
  double go_on(std::size_t done, double elapsed) {
    if (!next_ || (done < begin_ + repetitions_ && elapsed < begin_seconds_ + seconds_)) return 0;
    ++ended_;
    begin_ = done;
    begin_seconds_ = elapsed;
    return next_();
  }

  void restart() {
    ended_ = begin_ = 0;
    begin_seconds_ = 0;
  }

 private:
  static std::size_t parts_of(std::size_t repetitions) {
    return (repetitions + TimingMethod::kParts - 1) / TimingMethod::kParts;
  }

  const std::function<double()>& next_;
  const double seconds_;           // of a part, at most
  const std::size_t repetitions_;  // likewise
  std::size_t ended_ = 0;
  std::size_t begin_ = 0;  // of this part: repetitions that were done before
  double begin_seconds_ = 0;
};

}  // namespace

std::string_view name_of(StartMode mode) { return mode == StartMode::clock ? "clock" : "barrier"; }

std::string_view name_of(TimingMode mode) {
  return mode == TimingMode::isolated ? "isolated" : "pipelined";
}

CollectiveTimer::CollectiveTimer(Communicator& host)
    : host_(host),
      clock_(host),
      clock_pair_seconds_(measure_clock_pair_seconds(host, clock_)),
      lead_seconds_(measure_lead_seconds(host)) {}

Timing CollectiveTimer::measure(const CollectiveOperation& operation, const TimingMethod& method) {
  Timing timing;
  const WarmUp warm = warm_up(host_, operation, method.warm_up);
  timing.first_call_seconds = warm.first_call_seconds;
  timing.warm = warm.steady;
  timing.operations = method.mode == TimingMode::pipelined
                          ? std::max<std::size_t>(method.pipeline, 1)
                          : operations_to_outlast_clock(warm.seconds, clock_pair_seconds_);
  Cell cell(host_, clock_, operation, method.mode, clock_pair_seconds_, warm.seconds, timing);

  const auto clocks_agree = [&] {
    timing.residual_seconds = std::max(timing.residual_seconds, clock_.residual_seconds());
    return timing.residual_seconds <= kClockShare * cell.repetition_seconds();
  };
  if (method.start == StartMode::clock) clock_.synchronise();
  timing.start = clocks_agree() ? method.start : StartMode::barrier;

  double begin = local_seconds();
  Parts parts(method);
  const auto start_behind_barriers = [&] {
    cell.fall_back_to_barrier();
    parts.restart();
    begin = local_seconds();
  };
  while (true) {
    if (timing.start == StartMode::clock && clock_.keep_up() && !clocks_agree()) {
      start_behind_barriers();
    }
    const std::size_t done = timing.repetitions.size();
    std::vector<Stamps> batch(
        std::min(repetitions_to_decision(method.stop, done, cell.repetition_seconds()),
                 parts.repetitions_left(done)));
    for (Stamps& stamps : batch) stamps = cell.run(lead_seconds_);
    const auto [voided, elapsed] = cell.join(batch, local_seconds() - begin);
    if (2 * voided > batch.size()) lead_seconds_ = std::min(2 * lead_seconds_, kLongestLead);
    // More voided than kept: these ranks cannot start on time (they share a core, say).
    if (voided > 0 && timing.redone > 20 && timing.redone > timing.repetitions.size()) {
      start_behind_barriers();
    }
    if (timing.repetitions.empty()) continue;
    const StopRule::Decision decision = method.stop.decide(cell.seconds(), elapsed);
    const bool early = method.stop.fixed == 0 && decision.converged && parts.too_few();
    if (decision.stop && !early) {
      timing.converged = decision.converged;
      return timing;
    }
    begin += parts.go_on(timing.repetitions.size(), elapsed);
  }
}

std::size_t operations_to_outlast_clock(double operation_seconds, double clock_pair_seconds) {
  constexpr double kMost = 1000;
  const double longest_share = kClockShare * std::max(operation_seconds, 1e-12);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(clock_pair_seconds / longest_share), 1.0, kMost));
}

std::size_t repetitions_to_decision(const StopRule& stop, std::size_t done,
                                    double repetition_seconds) {
  constexpr std::size_t kFirst = 10;
  const double affordable = 0.1 * stop.at_most_seconds / std::max(repetition_seconds, 1e-12);
  std::size_t wanted = std::max(kFirst, done / 10);
  if (affordable < static_cast<double>(wanted)) wanted = static_cast<std::size_t>(affordable);
  const std::size_t most = stop.fixed > 0 ? stop.fixed : stop.at_most;
  return std::max<std::size_t>(1, std::min(wanted, most - std::min(most, done)));
}

StopRule StopRule::for_bytes(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 20U;
  StopRule rule;
  rule.target = bytes >= kLarge ? 0.01 : 0.025;
  return rule;
}

StopRule::Decision StopRule::decide(std::span<const double> seconds, double elapsed) const {
  const bool narrow = is_narrow(summarise(seconds), target);
  const bool late = elapsed >= at_most_seconds;
  if (fixed > 0) return {seconds.size() >= fixed || (capped && late), narrow};
  if (narrow) return {true, true};
  return {seconds.size() >= at_most || late, false};
}

namespace {

constexpr int kGroup = 10;

struct Group {
  double median = 0;   // slowest rank
  double elapsed = 0;  // rank 0's, since the warm-up began
};

/// Operations one after the other without any agreement on their start. Rank 0's clock comes with
/// the same message, so that all ranks decide on it and none leaves a loop alone.
Group run_group(Communicator& host, const CollectiveOperation& operation, int count, double begin) {
  std::vector<double> seconds(static_cast<std::size_t>(count));
  host.barrier();
  for (double& value : seconds) {
    operation.prepare();
    const double start = local_seconds();
    operation.enqueue();
    operation.wait();
    value = local_seconds() - start;
  }
  const double mine[] = {local_seconds() - begin, median_of(seconds)};
  const std::vector<double> all = all_gather(host, mine);
  Group group{0, all[0]};
  for (std::size_t i = 1; i < all.size(); i += 2) group.median = std::max(group.median, all[i]);
  return group;
}

}  // namespace

WarmUp warm_up(Communicator& host, const CollectiveOperation& operation, const WarmUpRule& rule) {
  WarmUp warm;
  warm.first_call_seconds = run_group(host, operation, 1, 0).median;
  const double begin = local_seconds();
  if (rule.fixed >= 0) {
    warm.seconds = run_group(host, operation, std::max(rule.fixed, 1), begin).median;
    return warm;
  }
  int surplus = 0;  // operations since both minima were met
  for (int done = kGroup;; done += kGroup) {
    const Group group = run_group(host, operation, kGroup, begin);
    // The first group has none before it, and differs from 0.
    warm.steady = std::abs(group.median - warm.seconds) < 0.05 * warm.seconds;
    warm.seconds = group.median;
    const bool enough = done >= rule.at_least && group.elapsed >= rule.at_least_seconds;
    if (enough) surplus += kGroup;
    if (enough && warm.steady) return warm;
    if (surplus >= rule.at_most || group.elapsed >= rule.at_most_seconds) return warm;
  }
}

}  // namespace scalebench
