// SPDX-License-Identifier: Apache-2.0
#include "models/network/network.hpp"

#include <gtest/gtest.h>

#include "models/data/image_source.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/models.hpp"
#include "models/network/modules.hpp"
#include "models/testing.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

double flops_of(const char* model, bool channels_last = false) {
  const auto network = make_network(model, 1);
  if (channels_last) make_channels_last(*network);
  const ImageShape& shape = model_named(model).shape;
  double flops = 0;
  for (const LayerCost& layer :
       layer_costs(*network, {shape.channels, shape.height, shape.width})) {
    flops += layer.flops;
  }
  EXPECT_TRUE(network->is_training());
  return flops;
}

TEST(ForwardFlops, AreTheUsesOfWeights) {
  EXPECT_EQ(flops_of("mlp"), 2.0 * (784 * 128 + 128 * 60 + 60 * 10));
  const double convolutions = 26.0 * 26 * 32 * 9 + 24.0 * 24 * 64 * 32 * 9;
  EXPECT_EQ(flops_of("mnist_cnn"), 2 * (convolutions + 9216 * 128 + 128 * 10));
}

TEST(LayerCosts, AreOfEachLayerInItsOrder) {
  const std::vector<LayerCost> costs = layer_costs(*make_network("mlp", 1), {1, 28, 28});
  ASSERT_EQ(costs.size(), 5U);
  EXPECT_EQ(costs[0].input_sizes, (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_EQ(costs[0].flops, 2.0 * 784 * 128);
  EXPECT_EQ(costs[1].flops, 0);
  EXPECT_EQ(costs[4].input_sizes, std::vector<std::int64_t>{60});
}

TEST(ForwardFlops, AreThoseThatPapersGive) {
  // He et al. 2016: 41 million multiplications for resnet20, and torchvision's tables.
  EXPECT_NEAR(flops_of("resnet20") / 2, 40.8e6, 0.5e6);
  EXPECT_NEAR(flops_of("resnet18") / 2, 1.814e9, 0.01e9);
  EXPECT_NEAR(flops_of("resnet50") / 2, 4.089e9, 0.01e9);
  EXPECT_EQ(flops_of("resnet18", /*channels_last=*/true), flops_of("resnet18"));
}

}  // namespace

namespace {

TEST(Network, HasTheParametersAndShapesOfTheTable) {
  for (const ModelInfo& model : models()) {
    SCOPED_TRACE(model.name);
    const auto network = make_network(model.name, 1);
    std::int64_t parameters = 0;
    for (const auto& parameter : network->parameters()) parameters += parameter.numel();
    EXPECT_EQ(parameters, model.parameters);
    const ImageShape& shape = model.shape;
    const auto logits =
        network->forward(torch::zeros({2, shape.channels, shape.height, shape.width}));
    EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{2, shape.classes}));
  }
}

TEST(Network, WeightsDependOnTheSeedAlone) {
  for (const ModelInfo& model : models()) {
    SCOPED_TRACE(model.name);
    torch::manual_seed(1);
    const std::uint64_t hash = hash_of(*make_network(model.name, 7));
    torch::manual_seed(2);
    EXPECT_EQ(hash_of(*make_network(model.name, 7)), hash);
    EXPECT_NE(hash_of(*make_network(model.name, 8)), hash);
  }
}

TEST(Network, WeightsAreWithinLibTorchsDefaultBound) {
  const auto network = make_network("mlp", 1);
  const auto parameters = network->named_parameters();
  const auto& weight = parameters["hidden1.weight"];
  EXPECT_LE(weight.abs().max().item<float>(), 1 / 28.F);
  EXPECT_NEAR(weight.std().item<float>(), 1 / 28.F / std::sqrt(3.F), 1e-3);
  EXPECT_LE(parameters["hidden1.bias"].abs().max().item<float>(), 1 / 28.F);
}

TEST(Network, ConvolutionsOfLargeResnetsStartAsTorchvisions) {
  const auto network = make_network("resnet18", 1);
  const auto parameters = network->named_parameters();
  const auto& weight = parameters["stage4.1.path.conv2.weight"];
  EXPECT_NEAR(weight.std().item<float>(), std::sqrt(2.F / (512 * 9)), 1e-4);
  EXPECT_NEAR(weight.mean().item<float>(), 0, 1e-4);
  EXPECT_EQ(parameters["stem.norm.weight"].min().item<float>(), 1);
}

TEST(Network, ChannelsLastChangesTheOrderAlone) {
  const auto network = make_network("resnet20", 1);
  const auto images = torch::rand({2, 3, 32, 32});
  network->eval();
  const std::uint64_t hash = hash_of(*network);
  const auto plain = network->forward(images);
  make_channels_last(*network);
  EXPECT_EQ(network->parameters()[0].stride(1), 1);
  EXPECT_EQ(network->parameters()[0].data_ptr<float>()[1],
            network->parameters()[0][0][1][0][0].item<float>());
  const auto last = network->forward(images.contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::allclose(plain, last, 1e-3, 1e-4));
  EXPECT_EQ(hash_of(*network), hash);
}

TEST(Network, DropoutIsOursAndOffInEvaluation) {
  const auto network = make_network("mnist_cnn", 1);
  const auto images = torch::rand({2, 1, 28, 28});
  const auto with_seed = [&](std::uint64_t seed) {
    network->seed_dropout(seed);
    return network->forward(images);
  };
  EXPECT_TRUE(torch::equal(with_seed(3), with_seed(3)));
  EXPECT_FALSE(torch::equal(with_seed(3), with_seed(4)));
  network->eval();
  EXPECT_TRUE(torch::equal(network->forward(images), network->forward(images)));
}

TEST(Network, DropoutOnACardKeepsItsShareAndHasTheMaskOfItsGradient) {
  if (!torch_sees_cuda()) GTEST_SKIP() << "this LibTorch sees no CUDA device";
  Dropout dropout(0.25);
  const auto masked = [&](std::uint64_t seed) {
    dropout.seed(seed);
    const auto ones = torch::ones({1000, 1000}, torch::device(torch::kCUDA)).requires_grad_();
    const auto kept = dropout(ones);
    kept.sum().backward();
    EXPECT_TRUE(torch::equal(kept, ones.grad()));
    return kept.detach().cpu();
  };
  const auto kept = masked(3);
  EXPECT_TRUE(torch::allclose(kept, kept.ne(0) / 0.75));
  EXPECT_NEAR(kept.mean().item<double>(), 1, 0.01);  // 17 deviations
  EXPECT_TRUE(torch::equal(kept, masked(3)));
  EXPECT_FALSE(torch::equal(kept, masked(4)));
}

TEST(Network, RefusesUnknownNames) {
  expect_error([] { make_network("mlpp", 1); }, {"mlpp", "did you mean 'mlp'"});
}

TEST(ImageStore, PadsNormalisesAndRepeats) {
  const Dataset set{"two pixels", {1, 1, 2, 10}, {0, 255}, {7}};
  const ImageStore store(set, {3, 3, 4, 10}, torch::kCPU);
  const auto batch = store.at(torch::tensor({0}, torch::kInt64), 0, std::stop_token());
  EXPECT_EQ(batch.images.sizes(), (std::vector<std::int64_t>{1, 3, 3, 4}));
  EXPECT_TRUE(batch.images.is_contiguous());
  EXPECT_EQ(batch.labels.item<std::int64_t>(), 7);
  auto expected = torch::full({1, 3, 3, 4}, -1.F);
  expected.index_put_({0, torch::indexing::Slice(), 1, 2}, 1.F);
  EXPECT_TRUE(torch::allclose(batch.images, expected));
  expect_error([&] { ImageStore(set, {3, 3, 1, 10}, torch::kCPU); }, {"two pixels", "1x1x2"});
}

TEST(ImageStore, MakesTheSameImagesInOnePass) {
  Dataset set{"noise", {1, 5, 6, 10}, {}, {1, 2, 3}};
  for (int i = 0; i < 3 * 5 * 6; ++i) set.images.push_back(static_cast<std::uint8_t>(i * 89));
  const auto indices = torch::tensor({2, 0, 1, 2}, torch::kInt64);
  const auto made = [&](std::optional<OnePass> one_pass) {
    return ImageStore(set, {3, 8, 9, 10}, torch::kCPU, one_pass).at(indices, 0, std::stop_token());
  };
  const auto expected = made(std::nullopt);
  const auto wide = made(OnePass{torch::kFloat32}), narrow = made(OnePass{torch::kBFloat16});
  EXPECT_TRUE(torch::equal(wide.images, expected.images));
  EXPECT_TRUE(torch::equal(narrow.images, expected.images.to(torch::kBFloat16)));
  EXPECT_TRUE(narrow.images.is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::equal(narrow.labels, expected.labels));
  const auto padded = made(OnePass{torch::kFloat32, ImageLayout::padded}).images;
  ASSERT_EQ(padded.size(1), 4);
  EXPECT_TRUE(torch::equal(padded.narrow(1, 0, 3), expected.images));
  EXPECT_EQ(padded.select(1, 3).abs().max().item<float>(), 0);
  EXPECT_EQ(made(OnePass{torch::kBFloat16, ImageLayout::padded}).images.size(1), 8);
}

}  // namespace

}  // namespace scalebench
