// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/error.hpp"
#include "models/network/network.hpp"

namespace scalebench {
namespace {

/// One layer, as seen by autograd.
class Replay : public torch::autograd::Function<Replay> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               torch::TensorList parameters, Pace* pace, double forward_seconds,
                               double backward_seconds) {
    context->saved_data["pace"] = reinterpret_cast<std::int64_t>(pace);
    context->saved_data["seconds"] = backward_seconds;
    std::vector<std::int64_t> sizes;
    for (const torch::Tensor& parameter : parameters) sizes.push_back(parameter.numel());
    context->saved_data["sizes"] = sizes;
    torch::Tensor same;
    pace->last(forward_seconds, [&] { same = x.clone(); });
    return same;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto* const pace = reinterpret_cast<Pace*>(context->saved_data["pace"].toInt());
    torch::autograd::variable_list all{gradients[0]};
    pace->last(context->saved_data["seconds"].toDouble(), [&] {
      const float value = gradients[0].select(1, 0).sum().item<float>();
      for (const std::int64_t size : context->saved_data["sizes"].toIntVector()) {
        all.push_back(torch::full({size}, value));
      }
    });
    // Of pace and durations.
    all.resize(all.size() + 3);
    return all;
  }
};

class ReplayLayer : public torch::nn::Module {
 public:
  ReplayLayer(const TracedLayer& layer, double dilation, Pace& pace)
      : forward_seconds_(dilation * layer.forward_seconds),
        backward_seconds_(dilation * layer.backward_seconds),
        pace_(pace) {
    for (const std::int64_t size : layer.gradients) {
      register_parameter(std::to_string(parameters_.size()), torch::zeros({size}));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    if (!is_training()) return x;
    const std::vector<torch::Tensor> own = parameters();
    // As this type they are variables to autograd.
    return Replay::apply(x, torch::TensorList(own), &pace_, forward_seconds_, backward_seconds_);
  }

 private:
  double forward_seconds_;
  double backward_seconds_;
  Pace& pace_;
};

class ReplayNetwork : public LayeredNetwork {
 public:
  ReplayNetwork(const ReplayTrace& trace, double dilation, Pace& pace) {
    // Autograd goes back to the first layer, even if that has no parameters.
    then([](const torch::Tensor& images) {
      const torch::Tensor grey = images.flatten(1);
      return torch::cat({grey, -grey}, 1).requires_grad_();
    });
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      const auto layer = std::make_shared<ReplayLayer>(trace.layers[i], dilation, pace);
      register_module(std::to_string(i), layer);
      then([layer](const torch::Tensor& x) { return layer->forward(x); }, {layer});
    }
  }
};

}  // namespace

std::shared_ptr<Network> make_replay_network(const ReplayTrace& trace, double dilation,
                                             Pace& pace) {
  return std::make_shared<ReplayNetwork>(trace, dilation, pace);
}

}  // namespace scalebench
