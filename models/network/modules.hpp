// SPDX-License-Identifier: Apache-2.0
// The modules of LibTorch that networks are made of. Each by its own header: <torch/nn.h> has all
// of them instantiated in every source, which takes longer than all else in it.
#pragma once

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/types.h>

#include <cstdint>

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
    return values * torch::empty_like(values).bernoulli_(keep_, generator_).div_(keep_);
  }

 private:
  double keep_;
  std::uint64_t seed_ = 0;
  at::Generator generator_;
  torch::Tensor restored_;  // until the first mask says on which device the generator is
};

}  // namespace scalebench
