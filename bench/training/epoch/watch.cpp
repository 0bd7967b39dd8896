// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/watch.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bench/measure/clock_sync.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {

void StepMarks::begin(const std::string& name) {
  epoch_ = name;
  if (step_seconds_ == 0) return progress_.work("first step");
  progress_.cell(epoch_);
  progress_.expect(step_seconds_);
}

void StepMarks::step() {
  leave();
  if (step_seconds_ == 0) began_ = local_seconds();
  progress_.enter();
  inside_ = true;
}

void StepMarks::end() {
  leave();
  progress_.end_cell();
}

void StepMarks::leave() {
  if (!inside_) return;
  progress_.leave();
  inside_ = false;
  if (step_seconds_ > 0) return;
  step_seconds_ = local_seconds() - began_;
  begin(epoch_);
}

ChromeTimeline::ChromeTimeline(const std::string& path, double (*clock)(), std::size_t most_events)
    : path_(path), clock_(clock), most_events_(most_events), file_(path) {
  if (!file_) fail<UsageError>("--timeline '{}': cannot be written", path);
}

void ChromeTimeline::start() {
  const std::lock_guard lock(mutex_);
  recording_ = true;
  start_ = clock_();
}

void ChromeTimeline::append(Event event) {
  const std::lock_guard lock(mutex_);
  if (!recording_) return;
  if (events_.size() < most_events_) {
    events_.push_back(std::move(event));
  } else {
    ++dropped_;
  }
}

void ChromeTimeline::finish() {
  const std::lock_guard lock(mutex_);
  recording_ = false;
  constexpr double kMicro = 1e6;
  nlohmann::json all = nlohmann::json::array();
  std::set<std::size_t> lanes;
  for (const Event& event : events_) {
    lanes.insert(event.lane);
    all.push_back({{"name", event.activity},
                   {"ph", event.kind},
                   {"pid", 0},
                   {"tid", event.lane},
                   {"ts", (event.at - start_) * kMicro}});
  }
  for (const std::size_t lane : lanes) {
    all.push_back({{"name", "thread_name"},
                   {"ph", "M"},
                   {"pid", 0},
                   {"tid", lane},
                   {"args", {{"name", fmt::format("gradient {}", lane)}}}});
  }
  const nlohmann::json document{{"traceEvents", std::move(all)},
                                {"displayTimeUnit", "ms"},
                                {"otherData", {{"rank", 0}, {"dropped_events", dropped_}}}};
  file_ << document.dump() << '\n' << std::flush;
  if (!file_) refuse_write(fmt::format("--timeline '{}': writing failed", path_), errno);
}

}  // namespace scalebench
