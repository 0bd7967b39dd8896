// SPDX-License-Identifier: Apache-2.0
#include "bench/step_timer.hpp"

#include "bench/measure/clock_sync.hpp"
#include "models/torch_device.hpp"

namespace scalebench {
namespace {

/// Enough that the device never waits for the host, few enough that a round ends on time.
constexpr std::size_t kStepsAhead = 16;

}  // namespace

void StepTimer::mark() {
  if (!on_device_) return stamps_.push_back(local_seconds());
  if (marks_ == events_.size()) events_.emplace_back();
  events_[marks_++].record(torch_stream());
}

void StepTimer::begin() {
  stamps_.clear();
  marks_ = 0;
  mark();
}

void StepTimer::step_enqueued() {
  mark();
  if (marks_ > kStepsAhead) events_[marks_ - 1 - kStepsAhead].synchronize();
}

void StepTimer::end(std::vector<double>& seconds) {
  if (on_device_) events_[marks_ - 1].synchronize();
  for (std::size_t i = 1; i < stamps_.size(); ++i) seconds.push_back(stamps_[i] - stamps_[i - 1]);
  for (std::size_t i = 1; i < marks_; ++i) {
    seconds.push_back(events_[i].seconds_since(events_[i - 1]));
  }
}

}  // namespace scalebench
