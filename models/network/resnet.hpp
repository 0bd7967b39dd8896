// SPDX-License-Identifier: Apache-2.0
// The frame that residual networks for 3x224x224 images share: He et al., "Deep Residual Learning
// for Image Recognition", 2016, table 1. A 7x7 convolution, four stages of blocks with 64, 128, 256
// and 512 channels (times an expansion), of which the last three halve the image, mean over the
// image, one dense layer. Convolutions start as torchvision's do: normal, variance 2 / fan-out.
#pragma once

#include <array>

#include "models/network/modules.hpp"
#include "models/network/network.hpp"

namespace scalebench {

class Resnet : public LayeredNetwork {
 public:
  /// The layers of one block beside its shortcut, from `in` channels to `width` times the
  /// expansion.
  using Path = torch::nn::Sequential (*)(int in, int width, int stride);

  Resnet(Path path, int expansion, const std::array<int, 4>& blocks);

  void initialise(at::Generator& generator) override;
};

/// Without a bias, which the batch normalisation behind it would cancel; padded to keep the size.
torch::nn::Conv2d plain_convolution(int in, int out, int side, int stride = 1);

}  // namespace scalebench
