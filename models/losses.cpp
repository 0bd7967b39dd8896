// SPDX-License-Identifier: Apache-2.0
// Sums losses in double precision, in the order of the steps.
#include "models/losses.hpp"

#include <fmt/format.h>

#include <cmath>

namespace scalebench {
namespace {

constexpr std::size_t kBlock = 64;

}  // namespace

void Losses::add(const torch::Tensor& loss, std::int64_t step) {
  if (loss.is_cpu()) return check(loss.item<float>(), step);
  if (pending_.empty() && blocks_.empty()) first_pending_ = step;
  pending_.push_back(loss.detach());
  if (pending_.size() < kBlock) return;
  blocks_.push_back(torch::stack(pending_));
  pending_.clear();
}

double Losses::take_mean() {
  look();
  const double mean = sum_ / static_cast<double>(count_);
  sum_ = 0;
  count_ = 0;
  return mean;
}

const std::string& Losses::failure() {
  look();
  return failure_;
}

void Losses::check(double loss, std::int64_t step) {
  if (!std::isfinite(loss) && failure_.empty()) {
    failure_ =
        fmt::format("rank {}: the training loss of step {} is {}; a smaller learning rate may help",
                    rank_, step, std::isnan(loss) ? "not a number" : "infinite");
  }
  sum_ += loss;
  ++count_;
}

void Losses::look() {
  if (!pending_.empty()) blocks_.push_back(torch::stack(pending_));
  pending_.clear();
  if (blocks_.empty()) return;
  const torch::Tensor losses = torch::cat(blocks_).cpu();
  blocks_.clear();
  const float* values = losses.data_ptr<float>();
  for (std::int64_t i = 0; i < losses.numel(); ++i) check(values[i], first_pending_ + i);
}

}  // namespace scalebench
