// SPDX-License-Identifier: Apache-2.0
#include "models/forward_flops.hpp"

#include <gtest/gtest.h>

#include "models/models.hpp"

namespace scalebench {
namespace {

double flops_of(const char* model, bool channels_last = false) {
  const auto network = make_network(model, 1);
  if (channels_last) make_channels_last(*network);
  const ImageShape& shape = model_named(model).shape;
  const double flops = forward_flops(*network, {shape.channels, shape.height, shape.width});
  EXPECT_TRUE(network->is_training());
  return flops;
}

TEST(ForwardFlops, AreTheUsesOfWeights) {
  EXPECT_EQ(flops_of("mlp"), 2.0 * (784 * 128 + 128 * 60 + 60 * 10));
  const double convolutions = 26.0 * 26 * 32 * 9 + 24.0 * 24 * 64 * 32 * 9;
  EXPECT_EQ(flops_of("mnist_cnn"), 2 * (convolutions + 9216 * 128 + 128 * 10));
}

TEST(ForwardFlops, AreThoseThatPapersGive) {
  // He et al. 2016: 41 million multiplications for resnet20, and torchvision's tables.
  EXPECT_NEAR(flops_of("resnet20") / 2, 40.8e6, 0.5e6);
  EXPECT_NEAR(flops_of("resnet18") / 2, 1.814e9, 0.01e9);
  EXPECT_NEAR(flops_of("resnet50") / 2, 4.089e9, 0.01e9);
  EXPECT_EQ(flops_of("resnet18", /*channels_last=*/true), flops_of("resnet18"));
}

}  // namespace
}  // namespace scalebench
