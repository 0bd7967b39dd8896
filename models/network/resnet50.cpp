// SPDX-License-Identifier: Apache-2.0
// ResNet-50: He et al. 2016, table 1, in the variant v1.5 that torchvision and NVIDIA's published
// figures use: a block narrows by a 1x1 convolution, strides in its 3x3 (not in the 1x1 before) and
// widens to four times the channels. 25 557 032 parameters: gradients of 102 MB against 4.1 billion
// multiplications an image. The standard load of published throughput figures.
#include "models/network/modules.hpp"

namespace scalebench {
namespace {

constexpr int kExpansion = 4;

torch::nn::Sequential bottleneck_path(int in, int width, int stride) {
  torch::nn::Sequential path;
  path->push_back("conv1", plain_convolution(in, width, 1));
  path->push_back("norm1", torch::nn::BatchNorm2d(width));
  path->push_back("relu1", rectifier());
  path->push_back("conv2", plain_convolution(width, width, 3, stride));
  path->push_back("norm2", torch::nn::BatchNorm2d(width));
  path->push_back("relu2", rectifier());
  path->push_back("conv3", plain_convolution(width, width * kExpansion, 1));
  path->push_back("norm3", torch::nn::BatchNorm2d(width * kExpansion));
  return path;
}

}  // namespace

std::shared_ptr<Network> network::resnet50() {
  return std::make_shared<Resnet>(&bottleneck_path, kExpansion, std::array{3, 4, 6, 3});
}

}  // namespace scalebench
