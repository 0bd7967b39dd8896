// SPDX-License-Identifier: Apache-2.0
#include <torch/script.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "kernels/error.hpp"
#include "models/network/network.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

class TorchScriptNetwork : public Network {
 public:
  TorchScriptNetwork(const torch::jit::Module& module, const std::string& file) : module_(module) {
    for (const auto& parameter : module_.named_parameters()) {
      if (!parameter.value.requires_grad()) {
        keep(parameter.name, parameter.value);
        continue;
      }
      if (parameter.value.scalar_type() != torch::kFloat32) {
        fail<UsageError>("{}: parameter {} is {}; expected float32 (lower precision: --precision)",
                         file, parameter.name, c10::toString(parameter.value.scalar_type()));
      }
      if (!parameter.value.is_non_overlapping_and_dense()) {
        fail<UsageError>("{}: parameter {} has gaps in memory; expected one that was cloned", file,
                         parameter.name);
      }
      // Not by register_parameter(), which refuses the dots of their names.
      parameters_.insert(parameter.name, parameter.value);
    }
    for (const auto& buffer : module_.named_buffers()) keep(buffer.name, buffer.value);
    if (parameters_.is_empty()) {
      fail<UsageError>("{}: this module has no trainable parameters; was it frozen?", file);
    }
    TorchScriptNetwork::train(true);
  }

  torch::Tensor forward(torch::Tensor images) override {
    return module_.forward({std::move(images)}).toTensor();
  }

  void train(bool on) override {
    Network::train(on);
    module_.train(on);
  }

  /// The module draws from LibTorch's own generator; ranks that are threads share that one.
  void seed_dropout(std::uint64_t seed) override { torch::manual_seed(seed); }

  std::vector<torch::Tensor> random_state() const override {
    std::vector<torch::Tensor> states;
    for (at::Generator& generator : drawn_from()) {
      const std::lock_guard lock(generator.mutex());
      states.push_back(generator.get_state());
    }
    return states;
  }
  void set_random_state(const std::vector<torch::Tensor>& states) override {
    std::vector<at::Generator> generators = drawn_from();
    for (std::size_t i = 0; i < generators.size(); ++i) {
      const std::lock_guard lock(generators[i].mutex());
      generators[i].set_state(states.at(i));
    }
  }

 private:
  /// On a GPU a module may draw on the CPU as well.
  std::vector<at::Generator> drawn_from() const {
    const torch::Device device = parameters().front().device();
    std::vector<at::Generator> generators{at::globalContext().defaultGenerator(torch::kCPU)};
    if (device.is_cuda()) generators.push_back(at::globalContext().defaultGenerator(device));
    return generators;
  }

  void keep(std::string name, const torch::Tensor& buffer) {
    std::replace(name.begin(), name.end(), '.', '/');
    register_buffer(name, buffer);
  }

  torch::jit::Module module_;
};

torch::jit::Module load(const std::string& file) {
  try {
    return torch::jit::load(file, torch::kCPU);
  } catch (const std::exception& error) {
    fail<UsageError>(
        "{}: not a TorchScript module (torch.jit.script(module).save(file) makes one): {}", file,
        last_line(error));
  }
}

void try_it(Network& network, const ModelChoice& choice) {
  const ImageShape& shape = choice.shape;
  const std::string given =
      fmt::format("images of float32 (n, {}, {}, {})", shape.channels, shape.height, shape.width);
  const torch::NoGradGuard no_grad;
  torch::Tensor output;
  network.eval();
  try {
    output = network.forward(torch::zeros({1, shape.channels, shape.height, shape.width}));
  } catch (const std::exception& error) {
    fail<UsageError>("{}: failed on {}, which --input-shape sets: {}", choice.model, given,
                     last_line(error));
  }
  network.train();
  const bool fits = output.dim() == 2 && output.size(0) == 1 && output.size(1) == shape.classes &&
                    output.is_floating_point();
  if (!fits) {
    fail<UsageError>(
        "{}: made {} {} from n = 1 of {}; expected floating-point (n, {}) as --classes says",
        choice.model, c10::toString(output.scalar_type()), c10::str(output.sizes()), given,
        shape.classes);
  }
}

}  // namespace

std::shared_ptr<Network> load_torch_script(const ModelChoice& choice) {
  auto network = std::make_shared<TorchScriptNetwork>(load(choice.model), choice.model);
  try_it(*network, choice);
  return network;
}

}  // namespace scalebench
