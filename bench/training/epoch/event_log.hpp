// SPDX-License-Identifier: Apache-2.0
// Writes down when a rank does what: phases, steps, and each communication from the instant at
// which this rank is ready to its end. Cost: a look at the clock and an append, about 30 ns an
// event (bench_kernels, case event_log); 16 bytes an event until the log goes.
#pragma once

#include <functional>
#include <utility>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/event_column.hpp"
#include "bench/training/epoch/attribution.hpp"

namespace scalebench {

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

/// The same trace by another clock.
RankTrace on_clock(RankTrace trace, const std::function<double(double)>& clock);

}  // namespace scalebench
