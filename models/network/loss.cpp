// SPDX-License-Identifier: Apache-2.0
#include "models/network/loss.hpp"

#include <fmt/format.h>

#include <cmath>

namespace scalebench {

torch::Tensor loss_of(Loss loss, const torch::Tensor& outputs, const torch::Tensor& labels) {
  // Logarithms and sums lose too much in 16 bits; the identity for float32.
  const torch::Tensor values = outputs.to(torch::kFloat32);
  const auto one_hot = [&] { return torch::one_hot(labels, values.size(1)).to(torch::kFloat32); };
  switch (loss) {
    case Loss::nll:
      return torch::nll_loss_nd(values, labels);
    case Loss::mse:
      return torch::mse_loss(values, one_hot());
    case Loss::bce_with_logits:
      return torch::binary_cross_entropy_with_logits(values, one_hot());
    case Loss::cross_entropy:
      break;
  }
  return torch::cross_entropy_loss(values, labels);
}

// Sums losses in double precision, in the order of the steps.

namespace {

constexpr std::size_t kBlock = 64;

}  // namespace

void TrainingLosses::add(const torch::Tensor& loss, std::int64_t step) {
  if (loss.is_cpu()) return check(loss.item<float>(), step);
  if (pending_.empty() && blocks_.empty()) first_pending_ = step;
  pending_.push_back(loss.detach());
  if (pending_.size() < kBlock) return;
  blocks_.push_back(torch::stack(pending_));
  pending_.clear();
}

double TrainingLosses::take_mean() {
  look();
  const double mean = sum_ / static_cast<double>(count_);
  sum_ = 0;
  count_ = 0;
  return mean;
}

const std::string& TrainingLosses::failure() {
  look();
  return failure_;
}

void TrainingLosses::check(double loss, std::int64_t step) {
  if (!std::isfinite(loss) && failure_.empty()) {
    failure_ =
        fmt::format("rank {}: the training loss of step {} is {}; a smaller learning rate may help",
                    rank_, step, std::isnan(loss) ? "not a number" : "infinite");
  }
  sum_ += loss;
  ++count_;
}

void TrainingLosses::look() {
  if (!pending_.empty()) blocks_.push_back(torch::stack(pending_));
  pending_.clear();
  if (blocks_.empty()) return;
  const torch::Tensor losses = torch::cat(blocks_).cpu();
  blocks_.clear();
  const float* values = losses.data_ptr<float>();
  for (std::int64_t i = 0; i < losses.numel(); ++i) check(values[i], first_pending_ + i);
}

}  // namespace scalebench
