// SPDX-License-Identifier: Apache-2.0
#include "bench/step_watch.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/last_words.hpp"
#include "kernels/error.hpp"

namespace scalebench {

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
