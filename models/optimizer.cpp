// SPDX-License-Identifier: Apache-2.0
// The update rules as PyTorch writes them: Sutskever et al. 2013 in PyTorch's variant (the rate
// multiplies the velocity, not the gradient), and Kingma and Ba 2015.
#include "models/optimizer.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"
#include "kernels/update.hpp"

namespace scalebench {
namespace {

using Tensors = std::vector<torch::Tensor>;

constexpr std::array<std::string_view, 2> kNames{"sgd", "adam"};

Tensors gradients_of(const Tensors& parameters) {
  Tensors gradients;
  gradients.reserve(parameters.size());
  for (const auto& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

Tensors zeros_like(const Tensors& parameters) {
  Tensors zeros;
  zeros.reserve(parameters.size());
  for (const auto& parameter : parameters) zeros.push_back(torch::zeros_like(parameter));
  return zeros;
}

using Named = std::vector<std::pair<std::string, torch::Tensor>>;

void append(Named& state, std::string_view name, const Tensors& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    state.emplace_back(fmt::format("{}.{}", name, i), tensors[i]);
  }
}

/// Copies `from` into the tensors of `to`, which has the same names and sizes.
void copy_state(const Named& from, Named to) {
  const torch::NoGradGuard no_grad;
  bool same = from.size() == to.size();
  for (std::size_t i = 0; same && i < from.size(); ++i) {
    same = from[i].first == to[i].first && from[i].second.sizes() == to[i].second.sizes();
    if (same) to[i].second.copy_(from[i].second);
  }
  if (!same) fail<UsageError>("this state is not one of this optimizer with this model");
}

/// The elements of a tensor as they lie in memory; const tensors are handles to it.
std::span<float> elements(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// Whether parameter and gradient are float32 in host memory in the same order without gaps, so
/// that an update can run over both as arrays. State is made like the parameter.
bool are_arrays(const torch::Tensor& parameter) {
  const torch::Tensor& gradient = parameter.grad();
  return parameter.is_cpu() && gradient.is_cpu() && parameter.is_non_overlapping_and_dense() &&
         gradient.strides() == parameter.strides() && parameter.scalar_type() == torch::kFloat32 &&
         gradient.scalar_type() == torch::kFloat32;
}

bool all_arrays(const Tensors& parameters) {
  return std::all_of(parameters.begin(), parameters.end(), are_arrays);
}

class Sgd : public Optimizer {
 public:
  explicit Sgd(const Tensors& parameters)
      : parameters_(parameters), velocities_(zeros_like(parameters)) {}

  void step(double learning_rate) override {
    if (all_arrays(parameters_)) {
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        sgd_update(elements(parameters_[i]), elements(parameters_[i].grad()),
                   elements(velocities_[i]), static_cast<float>(kMomentum),
                   static_cast<float>(learning_rate));
      }
      return;
    }
    torch::NoGradGuard no_grad;
    at::_foreach_mul_(velocities_, kMomentum);
    at::_foreach_add_(velocities_, gradients_of(parameters_));
    at::_foreach_add_(parameters_, velocities_, -learning_rate);
  }

  Named state() const override {
    Named state;
    append(state, "velocity", velocities_);
    return state;
  }
  void restore(const Named& from) override { copy_state(from, state()); }

 private:
  static constexpr double kMomentum = 0.9;
  Tensors parameters_;
  Tensors velocities_;
};

class Adam : public Optimizer {
 public:
  explicit Adam(const Tensors& parameters)
      : parameters_(parameters), means_(zeros_like(parameters)), squares_(zeros_like(parameters)) {}

  void step(double learning_rate) override {
    ++steps_;
    const double bias1 = 1 - std::pow(kBeta1, steps_);
    const double bias2 = 1 - std::pow(kBeta2, steps_);
    if (all_arrays(parameters_)) {
      const AdamStep constants{kBeta1, kBeta2, kEpsilon, learning_rate / bias1, std::sqrt(bias2)};
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        adam_update(elements(parameters_[i]), elements(parameters_[i].grad()), elements(means_[i]),
                    elements(squares_[i]), constants);
      }
      return;
    }
    torch::NoGradGuard no_grad;
    const Tensors gradients = gradients_of(parameters_);
    at::_foreach_mul_(means_, kBeta1);
    at::_foreach_add_(means_, gradients, 1 - kBeta1);
    at::_foreach_mul_(squares_, kBeta2);
    at::_foreach_addcmul_(squares_, gradients, gradients, 1 - kBeta2);
    Tensors denominators = at::_foreach_sqrt(squares_);
    at::_foreach_div_(denominators, std::sqrt(bias2));
    at::_foreach_add_(denominators, kEpsilon);
    at::_foreach_addcdiv_(parameters_, means_, denominators, -learning_rate / bias1);
  }

  Named state() const override {
    Named state;
    append(state, "mean", means_);
    append(state, "square", squares_);
    state.emplace_back("steps", torch::scalar_tensor(steps_, torch::kFloat64));
    return state;
  }
  void restore(const Named& from) override {
    Named to = state();
    copy_state(from, to);
    steps_ = static_cast<int>(to.back().second.item<double>());
  }

 private:
  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;
  Tensors parameters_;
  Tensors means_;
  Tensors squares_;
  int steps_ = 0;
};

}  // namespace

std::span<const std::string_view> optimizer_names() { return kNames; }

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const Tensors& parameters) {
  if (name == "sgd") return std::make_unique<Sgd>(parameters);
  if (name == "adam") return std::make_unique<Adam>(parameters);
  throw UsageError(unknown_name("optimizer", name, kNames));
}

}  // namespace scalebench
