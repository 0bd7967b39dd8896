// SPDX-License-Identifier: Apache-2.0
// Where the time of an epoch went: at each instant a rank is in exactly one state, so that the
// states sum to the epoch. First each rank writes down what it does, then the traces of all ranks,
// on one common clock, are divided into states.
// Source: results/README.md, "epoch.csv"; waiting and transfer part at the last rank's arrival.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench {

struct PhaseStart {
  double at = 0;  // seconds
  Phase phase = Phase::other;
};

struct ExchangeTimes {
  Exchange kind = Exchange::collective;
  double posted = 0;  // seconds
  double ended = 0;
};

/// What one rank did between its own begin and end of an epoch, all in seconds of one clock.
struct RankTrace {
  double begin = 0;
  double end = 0;
  std::vector<PhaseStart> phases = {};        // ascending; `other` until the first
  std::vector<ExchangeTimes> exchanges = {};  // as posted
  std::vector<double> steps = {};             // where each begins, ascending
};

/// The same trace by another clock.
RankTrace on_clock(RankTrace trace, const std::function<double(double)>& clock);

// Writes down when a rank does what: phases, steps, and each communication from the instant at
// which this rank is ready to its end, also by other threads than the rank's own. Cost: a look at
// the clock, a lock that nearly nobody holds and an append, some 40 ns an event; 16 bytes an event
// until the next restart().

class EventLog final : public StepTrace {
 public:
  /// `on_step` is called where a step begins: for whoever watches the progress. `clock`: seconds.
  explicit EventLog(std::function<void()> on_step = {}, const HostClock& clock = kTrueClock)
      : on_step_(std::move(on_step)), clock_(clock) {}

  void begin_step() override {
    if (on_step_) on_step_();
    append(steps_, clock_());
  }
  void enter(Phase phase) override { append(phases_, {clock_(), phase}); }
  void posted_ago(Exchange kind, double seconds) override {
    append(posted_, {clock_() - seconds, kind});
  }
  void ended_ago(double seconds) override { append(ended_, clock_() - seconds); }

  /// Begins a span, in phase `other`: what happened before is no part of it. On the rank's own
  /// thread, while nothing is in flight.
  void restart();

  /// The span from restart() to now, in seconds of this host's clock. On the rank's own thread. A
  /// communication that has not ended counts up to now.
  RankTrace read() const;

 private:
  struct Posted {
    double at = 0;
    Exchange kind = Exchange::collective;
  };
  template <class Event>
  void append(std::deque<Event>& events, const std::type_identity_t<Event>& event) {
    const std::lock_guard lock(mutex_);
    events.push_back(event);
  }

  std::function<void()> on_step_;
  static constexpr HostClock kTrueClock{};
  const HostClock& clock_;
  mutable std::mutex mutex_;  // of the events and their begin
  std::deque<PhaseStart> phases_;
  std::deque<double> steps_;
  std::deque<Posted> posted_;
  std::deque<double> ended_;
  double begin_ = clock_();
};

// States. No clock and no ranks from here on.

enum class State : std::size_t {
  compute,     // forward, backward, update; also while something moves meanwhile
  transfer,    // a communication moves that this rank waits for
  wait,        // it cannot move: a peer has not come; after the rank's own end: the others' end
  input,       // loading images
  evaluation,  // evaluation, checkpoint or broadcast inside the epoch
  host,        // everything else
};
inline constexpr std::array<std::string_view, 6> kStateNames{"compute", "transfer",   "wait",
                                                             "input",   "evaluation", "host"};

struct States {
  std::array<double, kStateNames.size()> seconds{};
  double hidden = 0;  // communication in flight while this rank computed

  double& operator[](State state) { return seconds[static_cast<std::size_t>(state)]; }
  double operator[](State state) const { return seconds[static_cast<std::size_t>(state)]; }
  double total() const;
};

/// When this rank was ready for each of its collectives, in their order.
std::vector<double> arrivals_of(const RankTrace& trace);

/// When the last rank was ready for each collective; `by_rank`: arrivals_of each rank, empty for
/// those that take part in none. Throws Error when the others differ in how many there were.
std::vector<double> last_arrivals(std::span<const std::vector<double>> by_rank);

/// The states of one rank between the common `begin` and `end` of all ranks, which enclose its own;
/// they sum to end - begin.
States states_of(const RankTrace& trace, std::span<const double> last_arrivals, double begin,
                 double end);

/// Steps of this rank's trace in which each rank was the last to come to the collective that kept
/// the others waiting longest.
std::vector<double> steps_last(const RankTrace& trace,
                               std::span<const std::vector<double>> by_rank);

/// The rank that is last most often, and its share; rank -1 where nobody waits for anybody.
struct Laggard {
  int rank = -1;
  double share = 0;
  double steps = 0;  // in which some rank was last

  /// Whether chance does not explain it: were each of the ranks the last one with 1/ranks in each
  /// step anew, not one epoch in a hundred would show any of them last so often. Lateness that
  /// lasts for some steps by chance is not told from a slow rank.
  bool stands_out(std::size_t ranks) const;
};
Laggard laggard_of(std::span<const double> steps_last);

// A rank's waiting is static, for one that is late again and again, and jitter, for now one and now
// another. Over few steps chance alone makes one of the ranks the latest, and its lateness would
// look static by 1/sqrt(steps) of the jitter. So the epoch's steps are dealt into two halves, and
// whoever was latest in one half is asked how long it waited in the other one: one that really is
// late waits for nobody there either, one that was late by chance as long as all others. The halves
// follow the Thue-Morse sequence, in which neither what alternates from step to step nor what grows
// through the epoch falls to one half.

/// Where a step's last collective has its last rank, on the common clock, ascending: the cuts
/// between the steps that are dealt, the same on every rank. `steps`: as many as the ranks took.
std::vector<double> cuts_between_steps(std::span<const double> last_arrivals, std::size_t steps);

/// This rank's waiting in each half; they sum to the waiting of states_of with the same arguments.
std::vector<double> waits_in_halves(std::span<const double> cuts, const RankTrace& trace,
                                    std::span<const double> last_arrivals, double end);

/// Waiting of each rank that is jitter, at most the mean over ranks; the rest of a rank's waiting
/// is static. `by_rank`: waits_in_halves of each, at least one. One step is no two halves: its
/// jitter is the least of any rank's waiting.
double wait_jitter(std::span<const double> cuts, std::span<const std::vector<double>> by_rank);

}  // namespace scalebench
