// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/attribution.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {

void EventLog::restart() {
  const std::lock_guard lock(mutex_);
  phases_.clear();
  steps_.clear();
  posted_.clear();
  ended_.clear();
  begin_ = clock_();
}

RankTrace EventLog::read() const {
  const std::lock_guard lock(mutex_);
  RankTrace trace{.begin = begin_,
                  .end = clock_(),
                  .phases = {phases_.begin(), phases_.end()},
                  .steps = {steps_.begin(), steps_.end()}};
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    trace.exchanges.push_back(
        {posted_[i].kind, posted_[i].at, i < ended_.size() ? ended_[i] : trace.end});
  }
  return trace;
}

RankTrace on_clock(RankTrace trace, const std::function<double(double)>& clock) {
  trace.begin = clock(trace.begin);
  trace.end = clock(trace.end);
  for (PhaseStart& one : trace.phases) one.at = clock(one.at);
  for (double& at : trace.steps) at = clock(at);
  for (ExchangeTimes& one : trace.exchanges) {
    one.posted = clock(one.posted);
    one.ended = clock(one.ended);
  }
  return trace;
}

namespace {

struct Interval {
  double begin = 0;
  double end = 0;
};

/// The same points in time as ascending intervals that do not touch.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& one) { return !(one.end > one.begin); });
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> apart;
  for (const Interval& one : intervals) {
    if (apart.empty() || one.begin > apart.back().end) {
      apart.push_back(one);
    } else {
      apart.back().end = std::max(apart.back().end, one.end);
    }
  }
  return apart;
}

/// How much of a stretch of time intervals cover; stretches are asked for in ascending order.
class Cover {
 public:
  explicit Cover(std::vector<Interval> intervals) : intervals_(merged(std::move(intervals))) {}

  double within(double begin, double end) {
    while (next_ < intervals_.size() && intervals_[next_].end <= begin) ++next_;
    double covered = 0;
    for (std::size_t i = next_; i < intervals_.size() && intervals_[i].begin < end; ++i) {
      covered += std::min(end, intervals_[i].end) - std::max(begin, intervals_[i].begin);
    }
    return covered;
  }

 private:
  std::vector<Interval> intervals_;
  std::size_t next_ = 0;
};

struct Communication {
  std::vector<Interval> in_flight;
  std::vector<Interval> moving;  // the part of it in which it does not wait for a peer
};

Communication communication_of(const RankTrace& trace, std::span<const double> last_arrivals) {
  Communication found;
  std::size_t collective = 0;
  for (const ExchangeTimes& one : trace.exchanges) {
    found.in_flight.push_back({one.posted, one.ended});
    if (one.kind == Exchange::transfer) found.moving.push_back({one.posted, one.ended});
    if (one.kind != Exchange::collective) continue;
    if (collective >= last_arrivals.size()) {
      fail("a rank posted more than the {} collectives of all", last_arrivals.size());
    }
    found.moving.push_back({std::max(one.posted, last_arrivals[collective++]), one.ended});
  }
  return found;
}

/// Calls visit(phase, begin, end) for the phases of the trace, without gaps, from its begin to its
/// end.
template <class Visit>
void for_each_phase(const RankTrace& trace, const Visit& visit) {
  const auto inside = [&](double at) { return std::clamp(at, trace.begin, trace.end); };
  double since = trace.begin;
  Phase phase = Phase::other;
  for (const PhaseStart& next : trace.phases) {
    visit(phase, since, inside(next.at));
    since = inside(next.at);
    phase = next.phase;
  }
  visit(phase, since, trace.end);
}

bool computes(Phase phase) {
  return phase == Phase::forward || phase == Phase::backward || phase == Phase::update;
}

double step_end(const RankTrace& trace, std::size_t step) {
  return step + 1 == trace.steps.size() ? trace.end : trace.steps[step + 1];
}

/// The rank with the latest of the `which`-th arrivals, and by how much it is behind the first.
std::pair<std::size_t, double> last_of(std::span<const std::vector<double>> by_rank,
                                       std::size_t which) {
  std::size_t last = 0;
  double first = std::numeric_limits<double>::infinity();
  double latest = -first;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (which >= by_rank[rank].size()) continue;
    const double arrival = by_rank[rank][which];
    first = std::min(first, arrival);
    if (arrival > latest) {
      latest = arrival;
      last = rank;
    }
  }
  return {last, latest - first};
}

}  // namespace

double States::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

std::vector<double> arrivals_of(const RankTrace& trace) {
  std::vector<double> arrivals;
  for (const ExchangeTimes& one : trace.exchanges) {
    if (one.kind == Exchange::collective) arrivals.push_back(one.posted);
  }
  return arrivals;
}

std::vector<double> last_arrivals(std::span<const std::vector<double>> by_rank) {
  std::vector<double> last;
  std::size_t first_rank = 0;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const std::vector<double>& arrivals = by_rank[rank];
    if (arrivals.empty()) continue;
    if (last.empty()) {
      last = arrivals;
      first_rank = rank;
    }
    if (last.size() != arrivals.size()) {
      fail("rank {} traced {} collectives and rank {} {}", first_rank, last.size(), rank,
           arrivals.size());
    }
    for (std::size_t i = 0; i < last.size(); ++i) last[i] = std::max(last[i], arrivals[i]);
  }
  return last;
}

States states_of(const RankTrace& trace, std::span<const double> last_arrivals, double begin,
                 double end) {
  Communication communication = communication_of(trace, last_arrivals);
  Cover in_flight(std::move(communication.in_flight));
  Cover moving(std::move(communication.moving));
  States states;
  states[State::host] = trace.begin - begin;
  states[State::wait] = end - trace.end;
  for_each_phase(trace, [&](Phase phase, double from, double to) {
    const double seconds = to - from;
    if (computes(phase)) {
      states[State::compute] += seconds;
      states.hidden += in_flight.within(from, to);
    } else if (phase == Phase::sync) {
      const double transfer = moving.within(from, to);
      const double exchange = in_flight.within(from, to);
      states[State::transfer] += transfer;
      states[State::wait] += exchange - transfer;
      states[State::host] += seconds - exchange;
    } else if (phase == Phase::load) {
      states[State::input] += seconds;
    } else if (phase == Phase::evaluate) {
      states[State::evaluation] += seconds;
    } else {
      states[State::host] += seconds;
    }
  });
  return states;
}

std::vector<double> steps_last(const RankTrace& trace,
                               std::span<const std::vector<double>> by_rank) {
  std::vector<double> steps(by_rank.size());
  const auto taking_part = std::ranges::count_if(
      by_rank, [](const std::vector<double>& arrivals) { return !arrivals.empty(); });
  if (taking_part < 2) return steps;
  const std::vector<double> mine = arrivals_of(trace);
  std::size_t next = 0;
  for (std::size_t step = 0; step < trace.steps.size(); ++step) {
    const double end = step_end(trace, step);
    std::pair<std::size_t, double> worst{0, -1};
    for (; next < mine.size() && mine[next] < end; ++next) {
      const auto one = last_of(by_rank, next);
      if (mine[next] >= trace.steps[step] && one.second > worst.second) worst = one;
    }
    if (worst.second >= 0) ++steps[worst.first];
  }
  return steps;
}

Laggard laggard_of(std::span<const double> steps_last) {
  const double all = std::accumulate(steps_last.begin(), steps_last.end(), 0.0);
  if (all == 0) return {};
  const auto most = std::ranges::max_element(steps_last);
  return {static_cast<int>(most - steps_last.begin()), *most / all, all};
}

bool Laggard::stands_out(std::size_t ranks) const {
  constexpr double kByChance = 0.01;
  if (rank < 0 || ranks < 2) return false;
  const auto n = static_cast<double>(ranks);
  const boost::math::binomial_distribution<double> last(steps, 1 / n);
  const double times = std::round(share * steps);
  // P(X >= times) of one rank, and any of them may be the one.
  return n * boost::math::cdf(boost::math::complement(last, times - 1)) < kByChance;
}

std::vector<double> cuts_between_steps(std::span<const double> last_arrivals, std::size_t steps) {
  std::vector<double> cuts;
  // A strategy that averages every tenth step has fewer collectives than steps.
  const std::size_t together =
      std::max<std::size_t>(1, last_arrivals.size() / std::max<std::size_t>(1, steps));
  double latest = -std::numeric_limits<double>::infinity();
  // The last step holds whatever comes after it, too.
  for (std::size_t next = 0; next + 2 * together <= last_arrivals.size();) {
    for (const std::size_t end = next + together; next < end; ++next) {
      latest = std::max(latest, last_arrivals[next]);
    }
    cuts.push_back(latest);
  }
  return cuts;
}

std::vector<double> waits_in_halves(std::span<const double> cuts, const RankTrace& trace,
                                    std::span<const double> last_arrivals, double end) {
  Communication communication = communication_of(trace, last_arrivals);
  Cover in_flight(std::move(communication.in_flight));
  Cover moving(std::move(communication.moving));
  std::vector<double> waits(2);
  const auto half_of = [](std::size_t step) {
    return static_cast<std::size_t>(std::popcount(step) % 2);
  };
  std::size_t step = 0;
  for_each_phase(trace, [&](Phase phase, double from, double to) {
    if (phase != Phase::sync) return;
    while (from < to) {
      while (step < cuts.size() && cuts[step] <= from) ++step;
      const double until = step < cuts.size() ? std::min(to, cuts[step]) : to;
      waits[half_of(step)] += in_flight.within(from, until) - moving.within(from, until);
      from = until;
    }
  });
  waits[half_of(cuts.size())] += end - trace.end;
  return waits;
}

double wait_jitter(std::span<const double> cuts, std::span<const std::vector<double>> by_rank) {
  const auto whole = [](const std::vector<double>& waits) { return waits[0] + waits[1]; };
  if (cuts.empty()) return whole(*std::ranges::min_element(by_rank, {}, whole));
  double jitter = 0, mean = 0;
  for (const auto& waits : by_rank) mean += whole(waits) / static_cast<double>(by_rank.size());
  for (const std::size_t half : {0U, 1U}) {
    // Of two that waited equally long, the one with less in the whole epoch: nothing of what
    // follows hangs on the order of ranks.
    const auto& latest = *std::ranges::min_element(
        by_rank, {}, [&](const auto& waits) { return std::pair(waits[half], whole(waits)); });
    jitter += latest[half ^ 1U];
  }
  return std::min(jitter, mean);
}

}  // namespace scalebench
