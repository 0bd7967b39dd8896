// SPDX-License-Identifier: Apache-2.0
// The mean of the training losses, and the alarm when one is not a number. On the CPU each loss is
// looked at once; on a GPU that would stall every step, so losses are looked at 64 at a time.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace scalebench {

class Losses {
 public:
  explicit Losses(int rank) : rank_(rank) {}

  /// loss: float32 scalar of step `step` (counted over all epochs). Throws Error with rank and
  /// step when a loss is infinite or not a number.
  void add(const torch::Tensor& loss, std::int64_t step);

  /// Mean of the losses since the last call, NaN without any. Throws as add().
  double take_mean();

 private:
  void check(double loss, std::int64_t step);
  void look();

  int rank_;
  std::vector<torch::Tensor> pending_;
  std::int64_t first_pending_ = 0;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace scalebench
