// SPDX-License-Identifier: Apache-2.0
// What every network of models.def is: a LibTorch module from images to logits.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "models/model_choice.hpp"
#include "models/pace.hpp"

namespace scalebench {

/// A piece of a network that takes the result of the one before it, and nothing else.
struct Layer {
  std::function<torch::Tensor(const torch::Tensor&)> run;
  /// Whose parameters and buffers it uses; empty for a layer without any.
  std::vector<std::shared_ptr<torch::nn::Module>> modules;

  std::vector<torch::Tensor> parameters() const;
  std::vector<torch::Tensor> buffers() const;
};

class Network : public torch::nn::Module {
 public:
  /// images: float32 (n, channels, height, width) as in models.def; returns logits (n, classes).
  virtual torch::Tensor forward(torch::Tensor images) = 0;

  /// The chain of layers that forward() runs, all parameters of the network in one of them each;
  /// empty for a network that is not such a chain. They refer to this network.
  virtual std::vector<Layer> layers() { return {}; }

  /// Restarts the network's own random numbers, if it uses any (dropout). They never come from
  /// LibTorch's generator, which all ranks of one process share.
  virtual void seed_dropout(std::uint64_t seed);

  /// Where those random numbers are: uint8 tensors on the CPU, in an order of the network's own;
  /// and the way back, from as many. None where there are no random numbers.
  virtual std::vector<torch::Tensor> random_state() const;
  virtual void set_random_state(const std::vector<torch::Tensor>& state);

  /// The generators of those numbers as far as they have been used: a recorded step needs to know
  /// them, so that each replay draws others.
  virtual std::vector<at::Generator> generators() const { return {}; }

  /// Draws all weights from `generator` alone: LibTorch's default for dense layers and convolutions
  /// (uniform within 1/sqrt(fan-in)) unless a network says otherwise.
  virtual void initialise(at::Generator& generator);
};

/// A network that is made as a chain of layers.
class LayeredNetwork : public Network {
 public:
  torch::Tensor forward(torch::Tensor images) override;
  std::vector<Layer> layers() override { return layers_; }

 protected:
  /// The next layer. `modules` are registered already.
  void then(std::function<torch::Tensor(const torch::Tensor&)> run,
            std::vector<std::shared_ptr<torch::nn::Module>> modules = {}) {
    layers_.push_back({std::move(run), std::move(modules)});
  }

 private:
  std::vector<Layer> layers_;
};

/// The network of that name on the CPU, in training mode. Weights are drawn from `seed` alone:
/// equal seeds give equal bits on every rank. Throws UsageError for an unknown name.
std::shared_ptr<Network> make_network(std::string_view name, std::uint64_t seed);

/// The same for a choice that may be a file; see load_torch_script. `pace`: of a replay, which
/// throws UsageError without one; must outlive the network.
std::shared_ptr<Network> make_network(const ModelChoice& choice, std::uint64_t seed,
                                      Pace* pace = nullptr);

/// Convolutions' weights get the channel as their fastest index; values stay.
void make_channels_last(torch::nn::Module& module);

namespace network {
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  std::shared_ptr<Network> name();
#include "models/models.def"
#undef MODEL
}  // namespace network

}  // namespace scalebench
