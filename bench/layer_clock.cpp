// SPDX-License-Identifier: Apache-2.0
#include "bench/layer_clock.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace scalebench {

StepTimes LayerClock::step(std::size_t layers) const {
  const auto is_end = [](const Mark& mark) {
    return mark.kind == Mark::Kind::phase && mark.value == static_cast<std::size_t>(Phase::other);
  };
  const auto first = std::ranges::find(marks_, Mark::Kind::step, &Mark::kind);
  const auto last = std::find_if(first, marks_.end(), is_end);
  if (last == marks_.end()) fail("a step that has not ended has no duration");
  StepTimes times;
  times.begin = first->at;
  times.end = last->at;
  times.forward.resize(layers);
  times.backward.resize(layers);
  Phase phase = Phase::other;
  std::size_t layer = 0;  // the last one that was done
  for (auto from = first; from != last; ++from) {
    const Mark& to = *std::next(from);
    if (from->kind == Mark::Kind::phase) phase = static_cast<Phase>(from->value);
    const bool marked = to.kind == Mark::Kind::forward || to.kind == Mark::Kind::gradient;
    if (marked) layer = to.value;
    double& into = phase == Phase::load                     ? times.load
                   : phase == Phase::update                 ? times.update
                   : layers > 0 && phase == Phase::forward  ? times.forward.at(layer)
                   : layers > 0 && phase == Phase::backward ? times.backward.at(layer)
                                                            : times.host;
    into += to.at - from->at;
  }
  return times;
}

}  // namespace scalebench
