// SPDX-License-Identifier: Apache-2.0
// What training makes small.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/models.hpp"

namespace scalebench {

/// outputs: (n, classes) of any floating-point type, labels: int64 (n). Returns a float32 scalar:
/// the mean over the batch, and for mse and bce_with_logits over the classes too.
torch::Tensor loss_of(Loss loss, const torch::Tensor& outputs, const torch::Tensor& labels);

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
