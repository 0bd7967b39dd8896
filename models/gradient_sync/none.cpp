// SPDX-License-Identifier: Apache-2.0
// A plain training loop: parameters and gradients are LibTorch's own and stay on their rank. With
// several ranks each trains a model of its own, which measures what they cost each other by
// contention alone.
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "models/gradients/gradient_sync.hpp"
#include "models/step/optimizer.hpp"

namespace scalebench::gradient_sync {
namespace {

class None : public GradientSync {
 public:
  explicit None(const GradientSyncInputs& inputs)
      : workers_{inputs.communicator.size(), inputs.communicator.rank()},
        parameters_(inputs.parameters),
        optimizer_(make_optimizer(inputs.optimizer, inputs.parameters)) {}

  Workers workers() const override { return workers_; }

  /// What zero_grad() does: without a gradient, the backward pass stores instead of adding.
  void begin_step() override {
    for (const auto& parameter : parameters_) parameter.mutable_grad().reset();
  }

  void synchronise() override {}

  bool update(double learning_rate, double gradient_scale) override {
    // A parameter without part in the step, which a module of the user's may have: as zeros, as in
    // every other strategy.
    for (const auto& parameter : parameters_) {
      torch::Tensor& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = torch::zeros_like(parameter.detach());
    }
    if (gradient_scale != 1 && !unscale_all(gradient_scale)) return false;
    optimizer_->step(learning_rate);
    return true;
  }

  bool set_rate(double learning_rate) override { return optimizer_->set_rate(learning_rate); }

  NamedTensors optimizer_state() override { return optimizer_->state(); }
  void restore_optimizer(const NamedTensors& state) override { optimizer_->restore(state); }

 private:
  /// As unscale() of each, but a GPU is asked once a step.
  bool unscale_all(double gradient_scale) const {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients, sums;
    for (const auto& parameter : parameters_) {
      gradients.push_back(parameter.grad());
      sums.push_back(parameter.grad().sum());
    }
    if (!std::isfinite(torch::stack(sums).sum().item<float>())) return false;
    at::_foreach_mul_(gradients, 1 / gradient_scale);
    return true;
  }

  Workers workers_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<GradientSync> none(const GradientSyncInputs& inputs) {
  return std::make_unique<None>(inputs);
}

}  // namespace scalebench::gradient_sync
