// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling for fp16, as torch.cuda.amp.GradScaler: gradients of a loss 65536 times as
// large do not vanish in half precision; a step whose gradients overflow is skipped and halves the
// factor, 2000 good steps in a row double it. Free of LibTorch.
#pragma once

#include <cstdint>

#include "models/torch/device.hpp"

namespace scalebench {

class LossScale {
 public:
  /// What the next steps depend on.
  struct State {
    double scale = 1;
    std::int64_t good_steps = 0;  // in a row
    std::int64_t skipped = 0;
    bool operator==(const State&) const = default;
  };

  /// Without fp16 the scale is 1, always.
  explicit LossScale(Precision precision)
      : active_(precision == Precision::fp16), state_{.scale = active_ ? 65536.0 : 1.0} {}

  double scale() const { return state_.scale; }
  std::int64_t skipped() const { return state_.skipped; }
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

  /// False where even a small scale overflows: then it is not the scale.
  bool sane() const { return state_.scale > 1e-4; }

  /// After a step: whether it was updated. Equal on all ranks, so the scale is too.
  void after(bool updated) {
    if (!active_) return;
    if (updated) {
      if (++state_.good_steps < kGoodSteps) return;
      state_.scale *= 2;
    } else {
      ++state_.skipped;
      state_.scale /= 2;
    }
    state_.good_steps = 0;
    // A scale of 1 is not looked at for overflow.
    if (state_.scale == 1) state_.scale *= updated ? 2 : 0.5;
  }

 private:
  static constexpr int kGoodSteps = 2000;
  bool active_;
  State state_;
};

}  // namespace scalebench
