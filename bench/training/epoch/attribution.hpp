// SPDX-License-Identifier: Apache-2.0
// Where the time of an epoch went: at each instant a rank is in exactly one state, so that the
// states sum to the epoch. First each rank writes down what it does, then the traces of all ranks,
// on one common clock, are divided into states.
// Source: results/README.md, "epoch.csv"; waiting and transfer part at the last rank's arrival.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/event_column.hpp"
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
// which this rank is ready to its end. Cost: a look at the clock and an append, about 30 ns an
// event (bench_kernels, case event_log); 16 bytes an event until the log goes.

class EventLog final : public StepTrace {
 public:
  /// `on_step` is called where a step begins: for whoever watches the progress.
  explicit EventLog(std::function<void()> on_step = {}) : on_step_(std::move(on_step)) {}

  void begin_step() override {
    if (on_step_) on_step_();
    steps_.append(local_seconds());
  }
  void enter(Phase phase) override { phases_.append({local_seconds(), phase}); }
  void posted(Exchange kind) override { posted_.append({local_seconds(), kind}); }
  void ended() override { ended_.append(local_seconds()); }

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
  /// How much of each column was there at restart().
  struct Sizes {
    std::size_t phases = 0, steps = 0, exchanges = 0;
  };

  std::function<void()> on_step_;
  EventColumn<PhaseStart> phases_;
  EventColumn<double> steps_;
  EventColumn<Posted> posted_;
  EventColumn<double> ended_;
  Sizes before_;
  double begin_ = local_seconds();
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

/// Seconds of each phase between the trace's begin and end.
std::array<double, kPhases> phase_seconds(const RankTrace& trace);

/// What each step took: from its begin to the next one's, the last to the end of the epoch.
std::vector<double> step_seconds(const RankTrace& trace);

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
};
Laggard laggard_of(std::span<const double> steps_last);

/// Waiting that no rank escapes, because now one and now another comes late; the rest of a rank's
/// waiting is static: for a rank that is always later. Exact: with one collective a step,
/// W_r = sum over steps s of (max c_s - c_rs), so the mean over ranks of W is
/// (max_r sum c_r - mean c) + min_r W_r.
double wait_jitter(std::span<const States> ranks);

}  // namespace scalebench
