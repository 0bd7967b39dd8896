// SPDX-License-Identifier: Apache-2.0
#include "models/model_pass.hpp"

#include "models/autocast.hpp"
#include "models/loss.hpp"

namespace scalebench {

NetworkPass::NetworkPass(Network& network, GradientSync& sync, const TrainerOptions& options,
                         std::function<void(Phase)> enter)
    : network_(network), sync_(sync), options_(options), enter_(std::move(enter)) {}

void NetworkPass::trace_layers(LayerTrace* trace) {
  marks_.reset();
  if (trace != nullptr) marks_.emplace(network_, *trace);
}

torch::Tensor NetworkPass::run(const torch::Tensor& images, const torch::Tensor& labels,
                               double gradient_scale) {
  const std::int64_t parts = options_.accumulate;
  const std::int64_t length = images.size(0) / parts;
  const auto part_of = [&](const torch::Tensor& all, std::int64_t part) {
    return parts == 1 ? all : all.narrow(0, part * length, length);
  };
  torch::Tensor sum;
  for (std::int64_t part = 0; part < parts; ++part) {
    enter_(Phase::forward);
    if (part == 0) sync_.begin_step();
    torch::Tensor loss;
    {
      const AutocastScope scope(options_.precision, images.device());
      const torch::Tensor inputs = part_of(images, part);
      const auto outputs = marks_ ? marks_->forward(inputs) : network_.forward(inputs);
      loss = loss_of(options_.choice.loss, outputs, part_of(labels, part));
    }
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
