// SPDX-License-Identifier: Apache-2.0
// The small convolutional network that Horovod's and PyTorch's MNIST examples share:
// conv 32 3x3, conv 64 3x3, max-pool 2, dropout .25, dense 128, dropout .5, dense 10.
// 28x28 images shrink to 26, 24 and, pooled, 12; 64 * 12 * 12 = 9216 numbers enter the dense part.
#include "models/network/fused.hpp"
#include "models/network/modules.hpp"

namespace scalebench {
namespace {

class MnistCnn : public LayeredNetwork {
 public:
  MnistCnn() {
    then(
        [this](const torch::Tensor& x) {
          return fused_ ? bias_relu(torch::conv2d(x, conv1_->weight), conv1_->bias)
                        : torch::relu(conv1_->forward(x));
        },
        {conv1_.ptr()});
    then(
        [this](const torch::Tensor& x) {
          return fused_ ? torch::conv2d(x, conv2_->weight) : torch::relu(conv2_->forward(x));
        },
        {conv2_.ptr()});
    // Both keep the order of numbers: the largest one is the same before them and behind them.
    then([this](const torch::Tensor& x) {
      return fused_ ? bias_relu(max_pool(x, 2), conv2_->bias) : torch::max_pool2d(x, 2);
    });
    then([this](const torch::Tensor& x) { return is_training() ? dropout1_(x) : x; });
    then(
        [this](const torch::Tensor& x) {
          const auto flat = x.flatten(1);
          return fused_ ? bias_relu(torch::linear(flat, dense1_->weight), dense1_->bias)
                        : torch::relu(dense1_->forward(flat));
        },
        {dense1_.ptr()});
    then([this](const torch::Tensor& x) { return is_training() ? dropout2_(x) : x; });
    then([this](const torch::Tensor& x) { return dense2_->forward(x); }, {dense2_.ptr()});
  }

  bool fuse() override { return fused_ = true; }

  void seed_dropout(std::uint64_t seed) override {
    dropout1_.seed(2 * seed);
    dropout2_.seed(2 * seed + 1);
  }
  std::vector<torch::Tensor> random_state() const override {
    return {dropout1_.state(), dropout2_.state()};
  }
  void set_random_state(const std::vector<torch::Tensor>& state) override {
    dropout1_.set_state(state.at(0));
    dropout2_.set_state(state.at(1));
  }
  std::vector<at::Generator> generators() const override {
    return {dropout1_.generator(), dropout2_.generator()};
  }

 private:
  torch::nn::Conv2d conv1_ =
      register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3)));
  torch::nn::Conv2d conv2_ =
      register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3)));
  torch::nn::Linear dense1_ = register_module("dense1", torch::nn::Linear(64 * 12 * 12, 128));
  torch::nn::Linear dense2_ = register_module("dense2", torch::nn::Linear(128, 10));
  bool fused_ = false;
  Dropout dropout1_{0.25};
  Dropout dropout2_{0.5};
};

}  // namespace

std::shared_ptr<Network> network::mnist_cnn() { return std::make_shared<MnistCnn>(); }

}  // namespace scalebench
