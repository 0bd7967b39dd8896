// SPDX-License-Identifier: Apache-2.0
// What every network is: a LibTorch module from images to logits, whether a line of models.def, a
// TorchScript file of the user's or the recorded steps of another one.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/layers/input.hpp"
#include "models/network/models.hpp"
#include "models/step/step_trace.hpp"
#include "models/step/traced_step.hpp"
#include "models/torch/gradient_hook.hpp"

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

  /// Computes its layers by fused.hpp from now on, where they can be: the same numbers but for
  /// roundings. False, and nothing changes: none of them can.
  virtual bool fuse() { return false; }

  /// How its fused layers want their images on a GPU.
  virtual ImageLayout image_layout() const { return ImageLayout::padded; }

  /// Restarts the network's own random numbers, if it uses any (dropout). Those of a line of
  /// models.def never come from LibTorch's generator, which all ranks of one process share.
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

/// The same for a choice that may be a file; see load_torch_script.
std::shared_ptr<Network> make_network(const ModelChoice& choice, std::uint64_t seed);

/// Convolutions' weights get the channel as their fastest index; values stay.
void make_channels_last(torch::nn::Module& module);

namespace network {
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  std::shared_ptr<Network> name();
#include "models/network/models.def"
#undef MODEL
}  // namespace network

// Floating-point operations of a forward pass, counted while the network runs: what LibTorch is
// asked for tells its shapes, whatever the network is made of.

struct LayerCost {
  /// Of one image: a multiplication and an addition for each use of a weight in convolutions and
  /// matrix products, which is what the field counts; element-wise work is left out.
  double flops = 0;
  /// What the layer takes of one image; for the first layer channels, height and width.
  std::vector<std::int64_t> input_sizes;
};

/// Of each of network.layers(), or of all as one where the network is no chain. `image`: channels,
/// height, width. The network is run once in evaluation mode, where its parameters are, and left in
/// training mode.
std::vector<LayerCost> layer_costs(Network& network, const std::vector<std::int64_t>& image);

// Tells a LayerTrace of each layer that a pass has done: between the layers of a chain in the
// forward pass, and by hooks where autograd has completed a gradient in the backward pass.
// A network that is no chain is divided by the modules that own parameters, in their order; all of
// its forward pass then is the first's.

/// Names and gradient sizes of the layers that LayerMarks tells of; no durations.
std::vector<TracedLayer> traced_layers(Network& network);

class LayerMarks {
 public:
  /// Both must outlive the marks, each of which waits for what a GPU still does. Hooks are called
  /// after those that are there already.
  LayerMarks(Network& network, LayerTrace& trace);
  LayerMarks(const LayerMarks&) = delete;
  LayerMarks& operator=(const LayerMarks&) = delete;

  /// What network.forward() returns.
  torch::Tensor forward(torch::Tensor images);

 private:
  Network& network_;
  LayerTrace& trace_;
  torch::Device device_ = torch::kCPU;
  std::vector<Layer> layers_;  // empty: no chain
  std::vector<GradientHook> hooks_;
};

// A TorchScript module of the user's as a network: its weights are those of the file.

/// Reads choice.model and tries it with one image of zeros of choice.shape, in evaluation mode.
/// Parameters that need no gradient are kept as buffers. Throws UsageError in one line for a file
/// that is no TorchScript module, for one without trainable parameters or with parameters that are
/// not float32 without gaps, and when the trial fails or does not return (1, classes).
std::shared_ptr<Network> load_torch_script(const ModelChoice& choice);

}  // namespace scalebench
