// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling for fp16, as torch.cuda.amp.GradScaler: gradients of a loss 65536 times as
// large do not vanish in half precision; a step whose gradients overflow is skipped and halves the
// factor, 2000 good steps in a row double it.
#pragma once

#include <cstdint>

#include "models/precision.hpp"

namespace scalebench {

class LossScale {
 public:
  /// Without fp16 the scale is 1, always.
  explicit LossScale(Precision precision)
      : active_(precision == Precision::fp16), scale_(active_ ? 65536 : 1) {}

  double scale() const { return scale_; }
  std::int64_t skipped() const { return skipped_; }

  /// False where even a small scale overflows: then it is not the scale.
  bool sane() const { return scale_ > 1e-4; }

  /// After a step: whether it was updated. Equal on all ranks, so the scale is too.
  void after(bool updated) {
    if (!active_) return;
    if (updated) {
      if (++good_ < kGoodSteps) return;
      scale_ *= 2;
    } else {
      ++skipped_;
      scale_ /= 2;
    }
    good_ = 0;
    // A scale of 1 is not looked at for overflow.
    if (scale_ == 1) scale_ *= updated ? 2 : 0.5;
  }

 private:
  static constexpr int kGoodSteps = 2000;
  bool active_;
  double scale_;
  int good_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace scalebench
