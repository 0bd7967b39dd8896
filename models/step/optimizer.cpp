// SPDX-License-Identifier: Apache-2.0
// The update rules as PyTorch writes them: Sutskever et al. 2013 in PyTorch's variant (the rate
// multiplies the velocity, not the gradient), and Kingma and Ba 2015.
#include "models/step/optimizer.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"
#include "kernels/update.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

using Tensors = std::vector<torch::Tensor>;

constexpr std::array<std::string_view, 2> kNames{"sgd", "adam"};

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

/// Whether the elements of two tensors of equal sizes lie in the same order; how far apart the only
/// element of a dimension is from the next does not matter.
bool same_order(const torch::Tensor& a, const torch::Tensor& b) {
  for (std::int64_t dim = 0; dim < a.dim(); ++dim) {
    if (a.size(dim) != 1 && a.stride(dim) != b.stride(dim)) return false;
  }
  return true;
}

/// Whether the tensor is float32 without gaps, so that an update can run over it as an array. State
/// is made like the parameter.
bool is_array(const torch::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && tensor.scalar_type() == torch::kFloat32;
}

/// Whether parameters and gradients are arrays in the same order, in memory of that kind.
bool all_arrays(const Tensors& parameters, torch::DeviceType memory) {
  return std::all_of(parameters.begin(), parameters.end(), [&](const torch::Tensor& parameter) {
    const torch::Tensor& gradient = parameter.grad();
    return parameter.device().type() == memory && gradient.device() == parameter.device() &&
           is_array(parameter) && is_array(gradient) && same_order(parameter, gradient);
  });
}

/// Autograd keeps gradients in their parameter's order, unless they are sparse.
void require_arrays_of_host(const Tensors& parameters) {
  if (!all_arrays(parameters, torch::kCPU)) {
    fail<UsageError>("an update needs parameters and gradients that are float32 without gaps");
  }
}

/// `second`: empty, or as many as `first`.
std::vector<UpdatePart> parts_of(const Tensors& parameters, const Tensors& first,
                                 const Tensors& second) {
  std::vector<UpdatePart> parts;
  parts.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parts.push_back(
        {elements(parameters[i]).data(),
         elements(parameters[i].grad()).data(),
         {elements(first[i]).data(), second.empty() ? nullptr : elements(second[i]).data()},
         elements(parameters[i]).size()});
  }
  return parts;
}

/// A rate where a kernel reads it: written only when it changes, without waiting for the device.
class DeviceRate {
 public:
  /// False where the parameters are no arrays on a device; autograd keeps gradients in their order.
  bool set(const Tensors& parameters, double rate) {
    if (!tensor_.defined()) {
      const bool possible =
          std::all_of(parameters.begin(), parameters.end(), [](const torch::Tensor& parameter) {
            return parameter.is_cuda() && is_array(parameter);
          });
      if (!possible) return false;
      tensor_ = torch::empty({1}, parameters.front().options().dtype(torch::kFloat64));
    }
    if (rate != known_) tensor_.fill_(rate);
    known_ = rate;
    return true;
  }
  const double* data() const { return tensor_.data_ptr<double>(); }

 private:
  torch::Tensor tensor_;
  double known_ = std::numeric_limits<double>::quiet_NaN();
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(const Tensors& parameters)
      : parameters_(parameters), velocities_(zeros_like(parameters)) {}

  void step(double learning_rate) override {
    if (all_arrays(parameters_, torch::kCUDA) && set_rate(learning_rate)) {
      return sgd_update(parts_of(parameters_, velocities_, {}), static_cast<float>(kMomentum),
                        rate_.data(), torch_stream());
    }
    require_arrays_of_host(parameters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      sgd_update(elements(parameters_[i]), elements(parameters_[i].grad()),
                 elements(velocities_[i]), static_cast<float>(kMomentum),
                 static_cast<float>(learning_rate));
    }
  }

  bool set_rate(double learning_rate) override {
    const torch::NoGradGuard no_grad;
    return rate_.set(parameters_, learning_rate);
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
  DeviceRate rate_;
};

class Adam : public Optimizer {
 public:
  explicit Adam(const Tensors& parameters)
      : parameters_(parameters), means_(zeros_like(parameters)), squares_(zeros_like(parameters)) {}

  void step(double learning_rate) override {
    if (all_arrays(parameters_, torch::kCUDA) && set_rate(learning_rate)) {
      return adam_update(parts_of(parameters_, means_, squares_), {kBeta1, kBeta2, kEpsilon, 0, 0},
                         rate_.data(), progress(), torch_stream());
    }
    require_arrays_of_host(parameters_);
    ++steps_;
    const double bias1 = 1 - std::pow(kBeta1, steps_);
    const double bias2 = 1 - std::pow(kBeta2, steps_);
    const AdamStep constants{kBeta1, kBeta2, kEpsilon, learning_rate / bias1, std::sqrt(bias2)};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      adam_update(elements(parameters_[i]), elements(parameters_[i].grad()), elements(means_[i]),
                  elements(squares_[i]), constants);
    }
  }

  bool set_rate(double learning_rate) override {
    const torch::NoGradGuard no_grad;
    if (!rate_.set(parameters_, learning_rate)) return false;
    if (!progress_.defined()) {
      constexpr auto kDoubles = static_cast<std::int64_t>(sizeof(AdamProgress) / sizeof(double));
      progress_ = torch::zeros({kDoubles}, parameters_.front().options().dtype(torch::kFloat64));
      progress_[0].fill_(static_cast<double>(steps_));
    }
    return true;
  }

  Named state() const override {
    Named state;
    append(state, "mean", means_);
    append(state, "square", squares_);
    const torch::Tensor steps =
        progress_.defined() ? progress_[0].cpu() : torch::scalar_tensor(steps_, torch::kFloat64);
    state.emplace_back("steps", steps);
    return state;
  }
  void restore(const Named& from) override {
    Named to = state();
    copy_state(from, to);
    steps_ = static_cast<int>(to.back().second.item<double>());
    progress_ = torch::Tensor();  // made anew from the steps
  }

 private:
  AdamProgress* progress() const {
    return reinterpret_cast<AdamProgress*>(progress_.data_ptr<double>());
  }

  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;
  Tensors parameters_;
  Tensors means_;
  Tensors squares_;
  int steps_ = 0;           // where the host counts them
  torch::Tensor progress_;  // an AdamProgress, where the device does
  DeviceRate rate_;
};

}  // namespace

std::span<const std::string_view> optimizer_names() { return kNames; }

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const Tensors& parameters) {
  if (name == "sgd") return std::make_unique<Sgd>(parameters);
  if (name == "adam") return std::make_unique<Adam>(parameters);
  throw UsageError(unknown_name("optimizer", name, kNames));
}

}  // namespace scalebench
