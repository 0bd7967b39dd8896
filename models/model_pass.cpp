// SPDX-License-Identifier: Apache-2.0
#include "models/model_pass.hpp"

namespace scalebench {

NetworkPass::NetworkPass(Network& network, GradientSync& sync, const TrainerOptions& options,
                         std::function<void(Phase)> enter)
    : network_(network), sync_(sync), options_(options), enter_(std::move(enter)) {}

torch::Tensor NetworkPass::run(const torch::Tensor& images, const torch::Tensor& labels,
                               double gradient_scale) {
  const std::int64_t parts = options_.accumulate;
  const std::int64_t length = images.size(0) / parts;
  torch::Tensor sum;
  for (std::int64_t part = 0; part < parts; ++part) {
    enter_(Phase::forward);
    if (part == 0) sync_.begin_step();
    const auto logits = network_.forward(images.narrow(0, part * length, length));
    auto loss =
        torch::nn::functional::cross_entropy(logits, labels.narrow(0, part * length, length));
    if (parts > 1) loss = loss / static_cast<double>(parts);
    const torch::Tensor value = loss.detach();
    sum = part == 0 ? value : sum + value;
    enter_(Phase::backward);
    if (part + 1 == parts) sync_.before_last_backward();
    if (gradient_scale != 1) loss = loss * gradient_scale;
    loss.backward();
  }
  return sum;
}

}  // namespace scalebench
