// SPDX-License-Identifier: Apache-2.0
// A network that takes as long as a recorded one without computing it: each layer passes its
// numbers on, lasts as long as it was recorded, and makes as many gradients. Its parameters are
// real, so that every gradient sync moves and updates what it would of the recorded network.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "models/network/models.hpp"
#include "models/network/network.hpp"
#include "models/step/pace.hpp"
#include "models/step/replay_trace.hpp"

namespace scalebench {

/// Images of (n, 1, 1, 1) of two classes; parameters of zeros. All gradients of a pass have one
/// value, which follows from its images, so that ranks with different ones disagree until they
/// have synchronised. In evaluation nothing waits. `pace` must outlive it.
std::shared_ptr<Network> make_replay_network(const ReplayTrace& trace, double dilation, Pace& pace);

// What a replayed step has beside its layers: loading, the update and the host's own work last as
// long as recorded, times the dilation. A model that computes is not held up.

class StepPace {
 public:
  /// Both must outlive it; `pace` is used only for a choice that is replayed.
  StepPace(const ModelChoice& choice, Pace* pace)
      : trace_(choice.trace.get()), dilation_(choice.dilation), pace_(pace) {}

  /// Returns what `work` returns.
  template <class Work>
  auto load(Work work) const {
    if (trace_ == nullptr) return work();
    std::optional<decltype(work())> loaded;
    pace_->last(dilation_ * trace_->load_seconds, [&] { loaded.emplace(work()); });
    return std::move(*loaded);
  }
  void host() const {
    if (trace_ != nullptr) pace_->last(dilation_ * trace_->host_seconds, [] {});
  }
  UpdatePace update() const {
    if (trace_ == nullptr) return {};
    const auto elements = static_cast<double>(trace_->parameters);
    return {pace_, dilation_ * trace_->update_seconds / elements};
  }

 private:
  const ReplayTrace* trace_;
  double dilation_;
  Pace* pace_;
};

}  // namespace scalebench
