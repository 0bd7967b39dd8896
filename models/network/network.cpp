// SPDX-License-Identifier: Apache-2.0
// From a name to a network with reproducible weights.
#include "models/network/network.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/error.hpp"
#include "models/network/models.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {

// LibTorch calls an observer before and after each operation; those that others are made of are
// counted once, at the outermost.

namespace {

/// Of the calling thread, whose operations alone are observed.
struct Count {
  double flops = 0;
  int depth = 0;
};
thread_local Count* counting = nullptr;

double extent(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

/// What is left to multiply with the elements of the result: uses of each of them, times two.
struct Product final : at::ObserverContext {
  double flops_per_element = 0;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  const auto inputs = operation.inputs();
  const auto factor = [&](std::size_t at) { return inputs[at].toTensor(); };
  auto product = std::make_unique<Product>();
  if (name == "aten::convolution" || name == "aten::_convolution") {
    product->flops_per_element = 2 * extent(factor(1)) / static_cast<double>(factor(1).size(0));
  } else if (name == "aten::mm" || name == "aten::bmm") {
    product->flops_per_element = 2 * static_cast<double>(factor(0).size(-1));
  } else if (name == "aten::addmm" || name == "aten::baddbmm") {
    product->flops_per_element = 2 * static_cast<double>(factor(1).size(-1));
  } else {
    return nullptr;
  }
  ++counting->depth;
  return product;
}

void end(const at::RecordFunction& operation, at::ObserverContext* context) {
  if (context == nullptr) return;
  const double each = static_cast<Product*>(context)->flops_per_element;
  if (--counting->depth == 0) {
    counting->flops += each * extent(operation.outputs().front().toTensor());
  }
}

/// Observes while it lives.
class Observer {
 public:
  explicit Observer(Count& count)
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
    counting = &count;
  }
  ~Observer() {
    at::removeCallback(handle_);
    counting = nullptr;
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  at::CallbackHandle handle_;
};

/// Of zeros, where the parameters are.
torch::Tensor one_image(const Network& network, std::vector<std::int64_t> sizes) {
  sizes.insert(sizes.begin(), 1);
  return torch::zeros(sizes, network.parameters().front().options());
}

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

std::shared_ptr<Network> build(std::string_view name) {
#define MODEL(model, parameters, channels, height, width, classes, batch, optimizer, rate, \
              purpose)                                                                     \
  if (name == #model) return network::model();
#include "models/network/models.def"
#undef MODEL
  return nullptr;
}

}  // namespace

std::vector<LayerCost> layer_costs(Network& network, const std::vector<std::int64_t>& image) {
  const torch::NoGradGuard no_grad;
  std::vector<Layer> layers = network.layers();
  if (layers.empty()) {
    layers.push_back({[&](const torch::Tensor& images) { return network.forward(images); }, {}});
  }
  torch::Tensor values = one_image(network, image);
  std::vector<LayerCost> costs;
  network.eval();
  for (const Layer& layer : layers) {
    Count count;
    const Observer observer(count);
    const std::vector<std::int64_t> sizes = values.sizes().slice(1).vec();
    values = layer.run(values);
    costs.push_back({count.flops, sizes});
  }
  network.train();
  return costs;
}

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

LayerMarks::LayerMarks(Network& network, LayerTrace& trace)
    : network_(network), trace_(trace), layers_(network.layers()) {
  const std::vector<Group> groups = groups_of(network);
  for (std::size_t layer = 0; layer < groups.size(); ++layer) {
    for (const torch::Tensor& parameter : groups[layer].parameters) {
      hooks_.emplace_back(parameter, [this, layer] {
        finish(device_);
        trace_.gradient_done(layer);
      });
    }
  }
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

void Network::seed_dropout(std::uint64_t) {}

/// torch::nn::Linear and Conv2d draw weight and bias from U(-1/sqrt(fan_in), 1/sqrt(fan_in)); the
/// same here from a generator of our own. Batch normalisation keeps its ones and zeros.
void Network::initialise(at::Generator& generator) {
  torch::NoGradGuard no_grad;
  for (const auto& layer : modules()) {
    auto parameters = layer->named_parameters(/*recurse=*/false);
    const torch::Tensor* weight = parameters.find("weight");
    if (weight == nullptr || weight->dim() < 2) continue;
    const auto fan_in = static_cast<double>(weight->numel() / weight->size(0));
    const double bound = 1.0 / std::sqrt(fan_in);
    for (auto& parameter : parameters) parameter.value().uniform_(-bound, bound, generator);
  }
}

std::vector<torch::Tensor> Network::random_state() const { return {}; }
void Network::set_random_state(const std::vector<torch::Tensor>&) {}

std::vector<torch::Tensor> Layer::parameters() const {
  std::vector<torch::Tensor> all;
  for (const auto& module : modules) {
    for (const torch::Tensor& parameter : module->parameters()) all.push_back(parameter);
  }
  return all;
}

std::vector<torch::Tensor> Layer::buffers() const {
  std::vector<torch::Tensor> all;
  for (const auto& module : modules) {
    for (const torch::Tensor& buffer : module->buffers()) all.push_back(buffer);
  }
  return all;
}

torch::Tensor LayeredNetwork::forward(torch::Tensor images) {
  for (const Layer& layer : layers_) images = layer.run(images);
  return images;
}

std::shared_ptr<Network> make_network(std::string_view name, std::uint64_t seed) {
  auto network = build(model_named(name).name);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  network->initialise(generator);
  return network;
}

std::string why_not_fused(const ModelChoice& choice) {
  if (choice.is_file()) {
    return fmt::format("step fused is for models of the suite: the layers of {} are its own",
                       choice.label);
  }
  if (build(model_named(choice.model).name)->fuse()) return {};
  return fmt::format(
      "step fused: {} has no batch normalisation and no convolution with a ReLU, so nothing is "
      "fused; expected eager or graph",
      choice.label);
}

void make_channels_last(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : module.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

std::shared_ptr<Network> make_network(const ModelChoice& choice, std::uint64_t seed) {
  return choice.is_file() ? load_torch_script(choice) : make_network(choice.model, seed);
}

}  // namespace scalebench
