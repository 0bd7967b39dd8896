// SPDX-License-Identifier: Apache-2.0
// What networks are made of. LibTorch's modules each by its own header: <torch/nn.h> has all of
// them instantiated in every source, which takes longer than all else in it.
#pragma once

#include <ATen/ops/_fused_dropout.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>

#include "models/network/network.hpp"

// Dropout with a generator of its own, so that ranks which are threads of one process draw
// independent and repeatable masks. Otherwise what torch::dropout does (inverted dropout).

namespace scalebench {

class Dropout {
 public:
  /// probability: share of elements that become 0, in [0, 1).
  explicit Dropout(double probability) : keep_(1.0 - probability) {}

  void seed(std::uint64_t seed) {
    seed_ = seed;
    generator_ = {};
    restored_ = torch::Tensor();
  }

  /// The generator's state as a uint8 tensor on the CPU; empty before the first mask.
  torch::Tensor state() const {
    if (generator_.defined()) return generator_.get_state();
    return restored_.defined() ? restored_ : torch::empty({0}, torch::kUInt8);
  }
  void set_state(const torch::Tensor& state) {
    generator_ = {};
    restored_ = state;
  }

  /// Not defined before the first mask.
  const at::Generator& generator() const { return generator_; }

  /// Same shape; kept elements are divided by the share that is kept.
  torch::Tensor operator()(const torch::Tensor& values) {
    if (!generator_.defined()) {
      // A clone of the device's generator is the one way to make a CUDA generator without CUDA.
      generator_ = at::globalContext().defaultGenerator(values.device()).clone();
      generator_.set_current_seed(seed_);
      if (restored_.defined() && restored_.numel() > 0) generator_.set_state(restored_);
    }
    // One kernel, and one of the backward pass; the CPU has no such.
    if (values.is_cuda()) return std::get<0>(at::_fused_dropout(values, keep_, generator_));
    return values * torch::empty_like(values).bernoulli_(keep_, generator_).div_(keep_);
  }

 private:
  double keep_;
  std::uint64_t seed_ = 0;
  at::Generator generator_;
  torch::Tensor restored_;  // until the first mask says on which device the generator is
};

// What all residual networks are made of: relu(path(x) + shortcut(x)).

class ResidualBlock : public torch::nn::Module {
 public:
  /// A shortcut without layers is x itself.
  ResidualBlock(torch::nn::Sequential path, torch::nn::Sequential shortcut);
  /// A shortcut without parameters.
  ResidualBlock(torch::nn::Sequential path,
                std::function<torch::Tensor(const torch::Tensor&)> shortcut);

  torch::Tensor forward(const torch::Tensor& images);

  /// All blocks of `network` compute by fused.hpp from now on.
  static void fuse_all(const torch::nn::Module& network);

 private:
  torch::Tensor beside(const torch::Tensor& images);

  bool fused_ = false;
  torch::nn::Sequential path_;
  torch::nn::Sequential layers_beside_;
  std::function<torch::Tensor(const torch::Tensor&)> shortcut_;
};

/// Two 3x3 convolutions, of which the first strides.
torch::nn::Sequential basic_path(int in, int width, int stride);

// The frame that residual networks for 3x224x224 images share: He et al., "Deep Residual Learning
// for Image Recognition", 2016, table 1. A 7x7 convolution, four stages of blocks with 64, 128, 256
// and 512 channels (times an expansion), of which the last three halve the image, mean over the
// image, one dense layer. Convolutions start as torchvision's do: normal, variance 2 / fan-out.

class Resnet : public LayeredNetwork {
 public:
  /// The layers of one block beside its shortcut, from `in` channels to `width` times the
  /// expansion.
  using Path = torch::nn::Sequential (*)(int in, int width, int stride);

  Resnet(Path path, int expansion, const std::array<int, 4>& blocks);

  bool fuse() override;
  ImageLayout image_layout() const override { return ImageLayout::blocks; }
  void initialise(at::Generator& generator) override;

 private:
  bool fused_ = false;
};

/// Without a bias, which the batch normalisation behind it would cancel; padded to keep the size.
torch::nn::Conv2d plain_convolution(int in, int out, int side, int stride = 1);

/// That works in place.
torch::nn::ReLU rectifier();

}  // namespace scalebench
