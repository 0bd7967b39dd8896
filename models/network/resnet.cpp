// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/network/fused.hpp"
#include "models/network/modules.hpp"

namespace scalebench {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Sequential;

class Block : public torch::nn::Module {
 public:
  Block(Sequential path, int in, int out, int stride)
      : path_(register_module("path", std::move(path))) {
    if (in == out && stride == 1) return;
    shortcut_->push_back("conv", plain_convolution(in, out, 1, stride));
    shortcut_->push_back("norm", BatchNorm2d(out));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    if (fused_) {
      const Fork in = forked(images);
      return run_fused(*path_, in.path,
                       shortcut_->is_empty() ? in.beside : run_fused(*shortcut_, in.beside));
    }
    const torch::Tensor beside = shortcut_->is_empty() ? images : shortcut_->forward(images);
    return path_->forward(images).add_(beside).relu_();
  }

  void fuse() { fused_ = true; }

 private:
  bool fused_ = false;
  Sequential path_;
  Sequential shortcut_ = register_module("shortcut", Sequential());
};

}  // namespace

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
      const int stride = stage > 0 && block == 0 ? 2 : 1;
      const auto made =
          std::make_shared<Block>(path(in, width, stride), in, width * expansion, stride);
      chain->push_back(made);
      then([made](const torch::Tensor& x) { return made->forward(x); }, {made});
      in = width * expansion;
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
  for (const auto& module : modules()) {
    if (auto* const block = dynamic_cast<Block*>(module.get())) block->fuse();
  }
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
