// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/event_log.hpp"

namespace scalebench {

void EventLog::restart() {
  before_ = {phases_.size(), steps_.size(), posted_.size()};
  begin_ = local_seconds();
}

RankTrace EventLog::read() const {
  RankTrace trace;
  trace.begin = begin_;
  trace.end = local_seconds();
  for (std::size_t i = before_.phases; i < phases_.size(); ++i) trace.phases.push_back(phases_[i]);
  for (std::size_t i = before_.steps; i < steps_.size(); ++i) trace.steps.push_back(steps_[i]);
  // Ended first: a communication that ends meanwhile has been posted by then.
  const std::size_t ended = ended_.size();
  for (std::size_t i = before_.exchanges; i < posted_.size(); ++i) {
    const Posted& one = posted_[i];
    trace.exchanges.push_back({one.kind, one.at, i < ended ? ended_[i] : trace.end});
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

}  // namespace scalebench
