// SPDX-License-Identifier: Apache-2.0
// From a name to a network with reproducible weights.
#include "models/network.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "kernels/error.hpp"
#include "models/models.hpp"
#include "models/replay_network.hpp"
#include "models/torch_script_network.hpp"

namespace scalebench {
namespace {

std::shared_ptr<Network> build(std::string_view name) {
#define MODEL(model, parameters, channels, height, width, classes, batch, optimizer, rate, \
              purpose)                                                                     \
  if (name == #model) return network::model();
#include "models/models.def"
#undef MODEL
  return nullptr;
}

}  // namespace

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

void make_channels_last(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : module.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

std::shared_ptr<Network> make_network(const ModelChoice& choice, std::uint64_t seed, Pace* pace) {
  if (choice.trace != nullptr) {
    if (pace == nullptr) fail<UsageError>("{}: only bench_epoch can replay", choice.model);
    return make_replay_network(*choice.trace, choice.dilation, *pace);
  }
  return choice.is_file() ? load_torch_script(choice) : make_network(choice.model, seed);
}

}  // namespace scalebench
