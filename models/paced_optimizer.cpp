// SPDX-License-Identifier: Apache-2.0
#include "models/paced_optimizer.hpp"

#include <torch/types.h>

namespace scalebench {
namespace {

class PacedOptimizer final : public Optimizer {
 public:
  PacedOptimizer(std::unique_ptr<Optimizer> optimizer, Pace& pace, double seconds)
      : optimizer_(std::move(optimizer)), pace_(pace), seconds_(seconds) {}

  void step(double learning_rate) override {
    pace_.last(seconds_, [&] { optimizer_->step(learning_rate); });
  }
  bool set_rate(double learning_rate) override { return optimizer_->set_rate(learning_rate); }
  std::vector<std::pair<std::string, at::Tensor>> state() const override {
    return optimizer_->state();
  }
  void restore(const std::vector<std::pair<std::string, at::Tensor>>& state) override {
    optimizer_->restore(state);
  }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  Pace& pace_;
  double seconds_;
};

}  // namespace

std::unique_ptr<Optimizer> make_paced_optimizer(std::string_view name,
                                                const std::vector<at::Tensor>& parameters,
                                                const UpdatePace& pace) {
  auto optimizer = make_optimizer(name, parameters);
  if (pace.pace == nullptr) return optimizer;
  std::int64_t elements = 0;
  for (const at::Tensor& parameter : parameters) elements += parameter.numel();
  return std::make_unique<PacedOptimizer>(std::move(optimizer), *pace.pace,
                                          pace.seconds_per_element * static_cast<double>(elements));
}

}  // namespace scalebench
