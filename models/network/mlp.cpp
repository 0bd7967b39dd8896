// SPDX-License-Identifier: Apache-2.0
// The multi-layer perceptron 784-128-60-10 of a textbook chapter on distributed training in the
// cloud. 108 830 parameters are 435 kB of gradients and little arithmetic, so that the latency of
// the gradient exchange dominates. The chapter's final softmax is part of the loss.
#include "models/network/modules.hpp"

namespace scalebench {
namespace {

class Mlp : public LayeredNetwork {
 public:
  Mlp() {
    then([this](const torch::Tensor& x) { return hidden1_->forward(x.flatten(1)); },
         {hidden1_.ptr()});
    then([](const torch::Tensor& x) { return torch::relu(x); });
    then([this](const torch::Tensor& x) { return hidden2_->forward(x); }, {hidden2_.ptr()});
    then([](const torch::Tensor& x) { return torch::relu(x); });
    then([this](const torch::Tensor& x) { return output_->forward(x); }, {output_.ptr()});
  }

 private:
  torch::nn::Linear hidden1_ = register_module("hidden1", torch::nn::Linear(28 * 28, 128));
  torch::nn::Linear hidden2_ = register_module("hidden2", torch::nn::Linear(128, 60));
  torch::nn::Linear output_ = register_module("output", torch::nn::Linear(60, 10));
};

}  // namespace

std::shared_ptr<Network> network::mlp() { return std::make_shared<Mlp>(); }

}  // namespace scalebench
