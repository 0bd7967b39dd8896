// SPDX-License-Identifier: Apache-2.0
// What a replayed step has beside its layers: loading, the update and the host's own work last as
// long as recorded, times the dilation. A model that computes is not held up.
#pragma once

#include <optional>
#include <utility>

#include "models/model_choice.hpp"
#include "models/pace.hpp"

namespace scalebench {

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
