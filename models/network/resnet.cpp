// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/network/fused.hpp"
#include "models/network/modules.hpp"

namespace scalebench {

using torch::nn::BatchNorm2d;
using torch::nn::Sequential;

ResidualBlock::ResidualBlock(Sequential path, Sequential shortcut)
    : path_(register_module("path", std::move(path))),
      layers_beside_(register_module("shortcut", std::move(shortcut))) {}

ResidualBlock::ResidualBlock(Sequential path,
                             std::function<torch::Tensor(const torch::Tensor&)> shortcut)
    : ResidualBlock(std::move(path), Sequential()) {
  shortcut_ = std::move(shortcut);
}

torch::Tensor ResidualBlock::beside(const torch::Tensor& images) {
  if (shortcut_) return shortcut_(images);
  if (layers_beside_->is_empty()) return images;
  return fused_ ? run_fused(*layers_beside_, images) : layers_beside_->forward(images);
}

torch::Tensor ResidualBlock::forward(const torch::Tensor& images) {
  if (fused_) {
    const Fork in = forked(images);
    return run_fused(*path_, in.path, beside(in.beside));
  }
  const torch::Tensor added = beside(images);
  return path_->forward(images).add_(added).relu_();
}

void ResidualBlock::fuse_all(const torch::nn::Module& network) {
  for (const auto& module : network.modules()) {
    if (auto* const block = dynamic_cast<ResidualBlock*>(module.get())) block->fused_ = true;
  }
}

Sequential basic_path(int in, int width, int stride) {
  Sequential path;
  path->push_back("conv1", plain_convolution(in, width, 3, stride));
  path->push_back("norm1", BatchNorm2d(width));
  path->push_back("relu1", rectifier());
  path->push_back("conv2", plain_convolution(width, width, 3));
  path->push_back("norm2", BatchNorm2d(width));
  return path;
}

torch::nn::ReLU rectifier() { return torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)); }

torch::nn::Conv2d plain_convolution(int in, int out, int side, int stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, side).stride(stride).padding((side - 1) / 2).bias(false));
}

Resnet::Resnet(Path path, int expansion, const std::array<int, 4>& blocks) {
  Sequential stem;
  stem->push_back("conv", plain_convolution(3, 64, 7, 2));
  stem->push_back("norm", BatchNorm2d(64));
  stem->push_back("relu", rectifier());
  stem->push_back("pool",
                  torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
  register_module("stem", stem);
  then(
      [this, stem](const torch::Tensor& x) mutable {
        return fused_ ? run_fused(*stem, x) : stem->forward(x);
      },
      {stem.ptr()});
  int in = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const int width = 64 << stage;
    Sequential chain;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int stride = stage > 0 && block == 0 ? 2 : 1, out = width * expansion;
      Sequential shortcut;
      if (in != out || stride != 1) {
        shortcut->push_back("conv", plain_convolution(in, out, 1, stride));
        shortcut->push_back("norm", BatchNorm2d(out));
      }
      const auto made = std::make_shared<ResidualBlock>(path(in, width, stride), shortcut);
      chain->push_back(made);
      then([made](const torch::Tensor& x) { return made->forward(x); }, {made});
      in = out;
    }
    register_module("stage" + std::to_string(stage + 1), chain);
  }
  Sequential head;
  head->push_back("mean", torch::nn::AdaptiveAvgPool2d(1));
  head->push_back("flatten", torch::nn::Flatten());
  head->push_back("dense", torch::nn::Linear(in, 1000));
  register_module("head", head);
  then([head](const torch::Tensor& x) mutable { return head->forward(x); }, {head.ptr()});
}

bool Resnet::fuse() {
  fused_ = true;
  ResidualBlock::fuse_all(*this);
  return true;
}

void Resnet::initialise(at::Generator& generator) {
  Network::initialise(generator);
  const torch::NoGradGuard no_grad;
  for (const auto& module : modules()) {
    auto* const convolution = module->as<torch::nn::Conv2d>();
    if (convolution == nullptr) continue;
    torch::Tensor& weight = convolution->weight;
    const auto fan_out = static_cast<double>(weight.numel() / weight.size(1));
    weight.normal_(0, std::sqrt(2 / fan_out), generator);
  }
}

}  // namespace scalebench
