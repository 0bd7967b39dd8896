// SPDX-License-Identifier: Apache-2.0
// ResNet-18: He et al. 2016, table 1. Blocks of two 3x3 convolutions, two a stage; the first of the
// two strides. 11 689 512 parameters, as torchvision's: gradients of 47 MB against 1.8 billion
// multiplications an image.
#include "models/network/modules.hpp"

namespace scalebench {

std::shared_ptr<Network> network::resnet18() {
  return std::make_shared<Resnet>(&basic_path, 1, std::array{2, 2, 2, 2});
}

}  // namespace scalebench
