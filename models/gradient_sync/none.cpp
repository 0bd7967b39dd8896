// SPDX-License-Identifier: Apache-2.0
// A plain training loop: gradients are LibTorch's own and stay on their rank. With several ranks
// each trains a model of its own, which measures what they cost each other by contention alone.
#include <torch/torch.h>

#include "models/gradient_sync.hpp"

namespace scalebench {
namespace {

class None : public GradientSync {
 public:
  explicit None(const GradientSyncInputs& inputs) : parameters_(inputs.parameters) {}

  /// What zero_grad() does: without a gradient, the backward pass stores instead of adding.
  void begin_step() override {
    for (const auto& parameter : parameters_) parameter.mutable_grad().reset();
  }

  void synchronise() override {}

 private:
  std::vector<torch::Tensor> parameters_;
};

}  // namespace

std::unique_ptr<GradientSync> gradient_sync::none(const GradientSyncInputs& inputs) {
  return std::make_unique<None>(inputs);
}

}  // namespace scalebench
