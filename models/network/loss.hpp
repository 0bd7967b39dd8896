// SPDX-License-Identifier: Apache-2.0
// What training makes small.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/models.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

/// outputs: (n, classes) of any floating-point type, labels: int64 (n). Returns a float32 scalar:
/// the mean over the batch, and for mse and bce_with_logits over the classes too.
torch::Tensor loss_of(Loss loss, const torch::Tensor& outputs, const torch::Tensor& labels);

// Dynamic loss scaling for fp16, as torch.cuda.amp.GradScaler: gradients of a loss 65536 times as
// large do not vanish in half precision; a step whose gradients overflow is skipped and halves the
// factor, 2000 good steps in a row double it.

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

// The mean of the training losses, and the first that is not a number. On the CPU each loss is
// looked at at once; on a GPU that would stall a step, so losses stay there until they are asked
// for. Nothing is thrown: other ranks may be inside the step's collective, and all must stop
// together.

class TrainingLosses {
 public:
  explicit TrainingLosses(int rank) : rank_(rank) {}

  /// loss: float32 scalar of step `step` (counted over all epochs).
  void add(const torch::Tensor& loss, std::int64_t step);

  /// Mean of the losses since the last call, NaN without any.
  double take_mean();

  /// Empty, or a line with rank and step of the first loss that was infinite or not a number.
  const std::string& failure();

 private:
  void check(double loss, std::int64_t step);
  void look();

  int rank_;
  std::vector<torch::Tensor> pending_;
  std::vector<torch::Tensor> blocks_;  // of kBlock losses each, before the pending ones
  std::int64_t first_pending_ = 0;
  std::string failure_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace scalebench
