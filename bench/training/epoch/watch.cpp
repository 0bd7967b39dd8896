// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/watch.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/measure/clock_sync.hpp"
#include "bench/program/watchdog/termination.hpp"
#include "kernels/error.hpp"

namespace scalebench {

const std::vector<std::string>& milestone_columns() {
  static const std::vector<std::string> kColumns{"seconds", "host", "rank",
                                                 "event",   "step", "note"};
  return kColumns;
}

Milestones::Milestones(const Ranks& ranks, const std::string& path) : ranks_(ranks) {
  if (path.empty()) return;
  // One of them writes the header.
  if (ranks.first()) file_.emplace(path, milestone_columns());
  ranks.host.barrier();
  if (!ranks.first()) file_.emplace(path, milestone_columns());
}

void Milestones::note(std::string_view event, std::int64_t step, std::string_view text) {
  if (!file_) return;
  file_->append({fmt::format("{:.6f}", local_seconds()), ranks_.session.host(),
                 std::to_string(ranks_.session.rank()), std::string(event), std::to_string(step),
                 std::string(text)});
}

StepWatch::StepWatch(const Ranks& ranks, const StepFault& fault, const std::string& milestones)
    : ranks_(ranks), fault_(fault), milestones_(ranks, milestones) {}

void StepWatch::begin(std::int64_t first, std::int64_t last) {
  first_ = first;
  steps_ = first;
  if (fault_.rank >= 0 && fault_.step >= last) {
    fail<UsageError>("rank {} is to be {} at step {}, but the training ends with step {}",
                     fault_.rank, fault_.participle(), fault_.step, last - 1);
  }
  if (ranks_.first()) milestones_.note("begins", first);
}

void StepWatch::begin_step() {
  end_step();
  inside_ = true;
  if (!is_hit() || steps_ != fault_.step) return;
  fmt::print(stderr, "rank {} {}: {} on purpose at the begin of step {}\n", ranks_.session.rank(),
             ranks_.session.host(), fault_.participle(), fault_.step);
  std::fflush(stderr);
  milestones_.note(fault_.participle(), steps_);
  inject(fault_.kind);
}

void StepWatch::end_step() {
  if (!inside_) return;
  inside_ = false;
  if (++steps_ == first_ + 1 && ranks_.first()) milestones_.note("first step ended", steps_);
}

void StepWatch::checkpointed() {
  if (ranks_.first()) milestones_.note("checkpoint", steps_);
}

void StepWatch::say(const std::string& line) {
  milestones_.note("noticed", steps_, line);
  say_last(line);
}

}  // namespace scalebench
