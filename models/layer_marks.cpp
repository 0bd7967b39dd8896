// SPDX-License-Identifier: Apache-2.0
#include "models/layer_marks.hpp"

#include <algorithm>

#include "kernels/error.hpp"
#include "models/compute_device.hpp"

namespace scalebench {
namespace {

/// A layer's name, and its parameters as the network has them.
struct Group {
  std::string name;
  std::vector<torch::Tensor> parameters;
};

std::string name_of(const Network& network, const Layer& layer, std::size_t place) {
  for (const auto& module : network.named_modules()) {
    for (const auto& used : layer.modules) {
      if (module.value() == used) return module.key();
    }
  }
  return fmt::format("layer{}", place);
}

std::vector<Group> groups_of(Network& network) {
  std::vector<Group> groups;
  for (const Layer& layer : network.layers()) {
    groups.push_back({name_of(network, layer, groups.size()), layer.parameters()});
  }
  if (!groups.empty()) return groups;
  for (const auto& parameter : network.named_parameters()) {
    const std::size_t dot = parameter.key().rfind('.');
    const std::string name = dot == std::string::npos ? "network" : parameter.key().substr(0, dot);
    if (groups.empty() || groups.back().name != name) groups.push_back({name, {}});
    groups.back().parameters.push_back(parameter.value());
  }
  return groups;
}

}  // namespace

std::vector<TracedLayer> traced_layers(Network& network) {
  std::vector<TracedLayer> layers;
  for (const Group& group : groups_of(network)) {
    TracedLayer& layer = layers.emplace_back();
    layer.name = group.name;
    for (const torch::Tensor& parameter : group.parameters) {
      layer.gradients.push_back(parameter.numel());
    }
  }
  return layers;
}

struct LayerMarks::Hook final : torch::autograd::FunctionPostHook {
  Hook(LayerMarks& owner, std::size_t which) : marks(owner), layer(which) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    finish(marks.device_);
    marks.trace_.gradient_done(layer);
    return outputs;
  }
  LayerMarks& marks;
  std::size_t layer;
};

LayerMarks::LayerMarks(Network& network, LayerTrace& trace)
    : network_(network), trace_(trace), layers_(network.layers()) {
  const std::vector<Group> groups = groups_of(network);
  for (std::size_t layer = 0; layer < groups.size(); ++layer) {
    for (const torch::Tensor& parameter : groups[layer].parameters) {
      const auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
      hooks_.push_back(accumulator->add_post_hook(std::make_unique<Hook>(*this, layer)));
      accumulators_.push_back(accumulator);
    }
  }
}

LayerMarks::~LayerMarks() {
  for (std::size_t i = 0; i < hooks_.size(); ++i) accumulators_[i]->del_post_hook(hooks_[i]);
}

torch::Tensor LayerMarks::forward(torch::Tensor images) {
  device_ = images.device();
  if (layers_.empty()) {
    images = network_.forward(std::move(images));
    finish(device_);
    trace_.forward_done(0);
    return images;
  }
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    images = layers_[layer].run(images);
    finish(device_);
    trace_.forward_done(layer);
  }
  return images;
}

}  // namespace scalebench
