// SPDX-License-Identifier: Apache-2.0
// ResNet-20 for 3x32x32 images: He et al., "Deep Residual Learning for Image Recognition", 2016,
// section 4.2. Three stages of three blocks with 16, 32 and 64 channels; where a stage halves the
// image, the shortcut takes every second pixel and pads the new channels with zeros (option A),
// which needs no parameters.
#include "models/network/fused.hpp"
#include "models/network/modules.hpp"

namespace scalebench {
namespace {

/// Every second pixel where the block strides, and zeros for new channels.
torch::Tensor padded(const torch::Tensor& images, int new_channels) {
  if (new_channels == 0) return images;
  using torch::indexing::None;
  using torch::indexing::Slice;
  const Slice every(None, None, 2);
  const int before = new_channels / 2;
  return torch::constant_pad_nd(images.index({Slice(), Slice(), every, every}),
                                {0, 0, 0, 0, before, new_channels - before});
}

class Resnet20 : public LayeredNetwork {
 public:
  Resnet20() {
    then(
        [this](const torch::Tensor& x) {
          return fused_ ? norm_relu(*norm_, convolved(*conv_, x))
                        : torch::relu(norm_->forward(conv_->forward(x)));
        },
        {conv_.ptr(), norm_.ptr()});
    int in = 16, blocks = 0;
    for (const int out : {16, 32, 64}) {
      for (int block = 0; block < 3; ++block) {
        const auto next = register_module(
            "block" + std::to_string(++blocks),
            std::make_shared<ResidualBlock>(
                basic_path(in, out, in == out ? 1 : 2),
                [more = out - in](const torch::Tensor& x) { return padded(x, more); }));
        then([next](const torch::Tensor& x) { return next->forward(x); }, {next});
        in = out;
      }
    }
    then(
        [this](const torch::Tensor& x) {
          return output_->forward(x.mean({2, 3}));
        },
        {output_.ptr()});
  }

  bool fuse() override {
    fused_ = true;
    ResidualBlock::fuse_all(*this);
    return true;
  }

 private:
  bool fused_ = false;
  torch::nn::Conv2d conv_ = register_module("conv", plain_convolution(3, 16, 3));
  torch::nn::BatchNorm2d norm_ = register_module("norm", torch::nn::BatchNorm2d(16));
  torch::nn::Linear output_ = register_module("output", torch::nn::Linear(64, 10));
};

}  // namespace

std::shared_ptr<Network> network::resnet20() { return std::make_shared<Resnet20>(); }

}  // namespace scalebench
