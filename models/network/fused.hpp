// SPDX-License-Identifier: Apache-2.0
// Layers of kernels/layers as LibTorch's autograd sees them: what follows a convolution or a matrix
// product, forward and backward in few passes over memory, on the CPU and on CUDA. float32 or
// bfloat16 as the input is; under autocast too, where LibTorch's own batch normalisation also keeps
// the type of its input. What comes with another order of its numbers is copied to channels last.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

namespace scalebench {

/// relu(norm(x) + beside), or relu(norm(x)) where `beside` is not defined. x, beside: (n, channels,
/// height, width). As norm->forward() it keeps running statistics while training, and normalises by
/// them in evaluation mode. Throws Error for other types, for channels that are no multiple of 8,
/// and while training for a single number a channel.
torch::Tensor norm_relu(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                        const torch::Tensor& beside = {});

/// x twice, for what reads the end of a block twice: the next block's layers and what goes beside
/// them. Where norm_relu() with `beside`, or max_pool(), made x, it adds the gradients of both
/// within its own backward pass; elsewhere autograd adds them.
struct Fork {
  torch::Tensor path;
  torch::Tensor beside;
};
Fork forked(const torch::Tensor& x);

/// norm(x) alone.
torch::Tensor norm_only(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x);

/// relu(x + bias): x (n, channels, height, width) or (n, channels), bias float32 (channels).
torch::Tensor bias_relu(const torch::Tensor& x, const torch::Tensor& bias);

/// The largest number of each square window, as torch::max_pool2d. x: (n, channels, height, width)
/// with channels that are a multiple of 8; windows of 2, or of 3 with a padding of 1 that counts
/// as nothing, at every second pixel. A window that does not fit is left out.
torch::Tensor max_pool(const torch::Tensor& x, std::int64_t window);

/// What the convolution computes, which has no bias and is padded to keep the size. x may have any
/// ImageLayout (kernels/layers/input.hpp): channels behind those that it takes meet weights of
/// zero, and blocks are for a convolution of 7 x 7 at every second pixel.
torch::Tensor convolved(torch::nn::Conv2dImpl& convolution, const torch::Tensor& x);

/// What `chain` computes, its batch normalisations together with a ReLU behind them, the last one
/// with `beside` if that is defined: then with a ReLU in any case.
torch::Tensor run_fused(torch::nn::SequentialImpl& chain, torch::Tensor x,
                        const torch::Tensor& beside = {});

}  // namespace scalebench
