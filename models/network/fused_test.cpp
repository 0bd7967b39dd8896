// SPDX-License-Identifier: Apache-2.0
// The fused layers against LibTorch's own operators one after the other in float64: as bodies of
// kernels with a thread of the host for each thread of a block, and as autograd sees them.
#include "models/network/fused.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <utility>

#include "kernels/layers/testing.hpp"
#include "models/data/image_source.hpp"
#include "models/network/modules.hpp"
#include "models/testing.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

struct Sizes {
  std::int64_t images, height, width, channels;
  std::int64_t rows() const { return images * height * width; }
};

struct Setting {
  Sizes sizes;
  torch::ScalarType type = torch::kFloat32;
  Tail tail = Tail::relu;
  bool training = true;
  bool twice = false;  // the result is used for two things
};

std::string text_of(const Setting& setting) {
  const Sizes& sizes = setting.sizes;
  return fmt::format("{} x {} x {} x {} of {}, tail {}, training {}, twice {}", sizes.images,
                     sizes.height, sizes.width, sizes.channels, c10::toString(setting.type),
                     static_cast<int>(setting.tail), setting.training, setting.twice);
}

/// Channels last and of the setting's type; parameters and statistics are float32.
struct Inputs {
  explicit Inputs(const Setting& setting, torch::Device device = torch::kCPU) {
    torch::manual_seed(7);
    const auto drawn = [&](double offset) {
      const Sizes& sizes = setting.sizes;
      const auto centre = offset * torch::randn({1, sizes.channels, 1, 1});
      return (torch::randn({sizes.images, sizes.channels, sizes.height, sizes.width}) + centre)
          .to(setting.type)
          .contiguous(torch::MemoryFormat::ChannelsLast);
    };
    // Some channels lie far from zero, as a convolution's may.
    x = drawn(8);
    beside = drawn(0);
    gradient = drawn(0.1);
    second = drawn(0.1);
    norm = torch::nn::BatchNorm2d(setting.sizes.channels);
    const torch::NoGradGuard no_grad;
    norm->weight.uniform_(0.5, 1.5);
    norm->bias.uniform_(-0.5, 0.5);
    norm->running_mean.uniform_(-1, 1);
    norm->running_var.uniform_(0.5, 2);
    norm->train(setting.training);
    norm->to(device);
    for (torch::Tensor* const tensor : {&x, &beside, &gradient, &second}) {
      *tensor = tensor->to(device);
    }
  }
  torch::Tensor x, beside, gradient, second;
  torch::nn::BatchNorm2d norm{nullptr};
};

struct Found {
  torch::Tensor y, x_gradient, beside_gradient, weight_gradient, bias_gradient;
  torch::Tensor running_mean, running_variance;
  std::int64_t batches = 0;
};

Found by_autograd(const Setting& setting, torch::Device device = torch::kCPU) {
  Inputs in(setting, device);
  const torch::Tensor x = in.x.requires_grad_(), beside = in.beside.requires_grad_();
  torch::nn::BatchNorm2dImpl& norm = *in.norm;
  const torch::Tensor y = setting.tail == Tail::none   ? norm_only(norm, x)
                          : setting.tail == Tail::relu ? norm_relu(norm, x)
                                                       : norm_relu(norm, x, beside);
  if (setting.twice) {
    const Fork fork = forked(y);
    torch::autograd::backward({fork.path, fork.beside}, {in.gradient, in.second});
  } else {
    y.backward(in.gradient);
  }
  const auto here = [](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.detach().cpu() : tensor;
  };
  return {here(y),
          here(x.grad()),
          here(beside.grad()),
          here(norm.weight.grad()),
          here(norm.bias.grad()),
          here(norm.running_mean),
          here(norm.running_var),
          norm.num_batches_tracked.item<std::int64_t>()};
}

/// In blocks of `threads` threads, about so many of them.
Found by_threads(const Setting& setting, unsigned threads, std::size_t blocks) {
  const Inputs in(setting);
  const Activations shape{static_cast<std::size_t>(setting.sizes.rows()),
                          static_cast<std::size_t>(setting.sizes.channels),
                          setting.type == torch::kFloat32 ? DType::float32 : DType::bfloat16};
  const Grid grid = grid_for(shape, threads, blocks);
  const auto floats = [](std::size_t count) {
    return torch::empty({static_cast<std::int64_t>(count)}, torch::kFloat32);
  };
  const bool adds = setting.tail == Tail::add_relu;
  const auto y = torch::empty_like(in.x), x_gradient = torch::empty_like(in.x);
  const auto beside_gradient = adds ? torch::empty_like(in.x) : torch::Tensor();
  const auto weight_gradient = floats(shape.channels), bias_gradient = floats(shape.channels);
  const auto numbers = floats(kNormNumbers * shape.channels);
  const auto scratch = floats(scratch_floats(shape, grid));
  const auto bits = torch::empty({in.x.numel() / kWide}, torch::kUInt8);
  const torch::nn::BatchNorm2dImpl& norm = *in.norm;
  body::norm_forward({.shape = shape,
                      .tail = setting.tail,
                      .training = setting.training,
                      .x = in.x.data_ptr(),
                      .beside = adds ? in.beside.data_ptr() : nullptr,
                      .y = y.data_ptr(),
                      .positive = adds ? bits.data_ptr<std::uint8_t>() : nullptr,
                      .weight = norm.weight.data_ptr<float>(),
                      .bias = norm.bias.data_ptr<float>(),
                      .running_mean = norm.running_mean.data_ptr<float>(),
                      .running_variance = norm.running_var.data_ptr<float>(),
                      .batches = norm.num_batches_tracked.data_ptr<std::int64_t>(),
                      .momentum = norm.options.momentum().value(),
                      .epsilon = norm.options.eps(),
                      .numbers = numbers.data_ptr<float>(),
                      .scratch = scratch.data_ptr<float>()},
                     grid, thread_launcher(threads));
  body::norm_backward({.shape = shape,
                       .tail = setting.tail,
                       .training = setting.training,
                       .y_gradient = in.gradient.data_ptr(),
                       .second_gradient = setting.twice ? in.second.data_ptr() : nullptr,
                       .x = in.x.data_ptr(),
                       .positive = bits.data_ptr<std::uint8_t>(),
                       .numbers = numbers.data_ptr<float>(),
                       .beside_gradient = adds ? beside_gradient.data_ptr() : nullptr,
                       .x_gradient = x_gradient.data_ptr(),
                       .weight_gradient = weight_gradient.data_ptr<float>(),
                       .bias_gradient = bias_gradient.data_ptr<float>(),
                       .scratch = scratch.data_ptr<float>()},
                      grid, thread_launcher(threads));
  return {y,
          x_gradient,
          beside_gradient,
          weight_gradient,
          bias_gradient,
          norm.running_mean,
          norm.running_var,
          norm.num_batches_tracked.item<std::int64_t>()};
}

/// `relative`: of the number itself, what rounding to its type may take.
void expect_near(const char* what, const torch::Tensor& got, const torch::Tensor& want,
                 double absolute, double relative) {
  const auto off = (got.to(torch::kFloat64) - want).abs() - relative * want.abs();
  const auto worst = torch::where(want.isnan().logical_and(got.isnan()), -1.0, off);
  EXPECT_LE(worst.max().item<double>(), absolute) << what;
}

// The bound. A thread adds up its rows one by one, of at most `rows` numbers; each addition rounds
// by at most 2^-24 of the sum so far, which is at most the sum of the absolute numbers. So a mean
// is off by rows * 2^-24 of the mean absolute number, which is about 1 here; variance, factor and
// result are products of few such, and 16 times that holds all of them for numbers up to 5. A sum
// over the rows itself, as the gradient of a weight, is off by as much for each row.
// float32 is rounded once more at the end by 2^-24, bfloat16 by 2^-9 of the number.

void expect_unfused(const Found& found, const Setting& setting) {
  SCOPED_TRACE(text_of(setting));
  const Inputs in(setting);
  const auto wide = [](const torch::Tensor& tensor) { return tensor.detach().to(torch::kFloat64); };
  const auto x = wide(in.x).requires_grad_(), beside = wide(in.beside);
  const auto weight = wide(in.norm->weight).requires_grad_();
  const auto bias = wide(in.norm->bias).requires_grad_();
  const auto mean = wide(in.norm->running_mean), variance = wide(in.norm->running_var);
  const auto normal = torch::batch_norm(x, weight, bias, mean, variance, setting.training, 0.1,
                                        1e-5, /*cudnn_enabled=*/false);
  const auto z = setting.tail == Tail::add_relu ? normal + beside : normal;
  const auto y = setting.tail == Tail::none ? z : torch::relu(z);

  const auto rows = static_cast<double>(setting.sizes.rows());
  const double close = 16 * (rows + 8) * 0x1p-24;
  const double rounding = setting.type == torch::kFloat32 ? 0x1p-23 : 0x1p-8;
  expect_near("y", found.y, y.detach(), close, rounding);
  expect_near("running mean", found.running_mean, mean, close, 0x1p-23);
  expect_near("running variance", found.running_variance, variance, 2 * close, 0x1p-23);
  EXPECT_EQ(found.batches, setting.training ? 1 : 0);

  // The ReLU is where it was in what was found; it may be elsewhere only beside zero.
  auto through = wide(setting.twice ? in.gradient + in.second : in.gradient);
  if (setting.tail != Tail::none) {
    const auto on = found.y > 0;
    const auto elsewhere = on.logical_xor(z > 0);
    EXPECT_LE(torch::where(elsewhere, z.detach().abs(), 0.0).max().item<double>(), close);
    through = through * on;
  }
  normal.backward(through);
  expect_near("gradient of x", found.x_gradient, x.grad(), 4 * close, rounding);
  if (setting.tail == Tail::add_relu) {
    EXPECT_TRUE(torch::equal(found.beside_gradient.to(torch::kFloat64), through));
  }
  expect_near("gradient of the weight", found.weight_gradient, weight.grad(), rows * close,
              0x1p-23);
  expect_near("gradient of the bias", found.bias_gradient, bias.grad(), rows * close, 0x1p-23);
}

/// Every type and tail, in training and in evaluation.
template <class Find>
void expect_all_unfused(const Sizes& sizes, Find find) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    for (const Tail tail : {Tail::none, Tail::relu, Tail::add_relu}) {
      for (const bool training : {true, false}) {
        const Setting setting{sizes, type, tail, training};
        expect_unfused(find(setting), setting);
      }
      if (tail != Tail::add_relu) continue;
      const Setting setting{sizes, type, tail, true, /*twice=*/true};
      expect_unfused(find(setting), setting);
    }
  }
}

TEST(FusedNorm, EqualsTheUnfusedOperatorsForAnyRowsAndChannels) {
  for (const std::int64_t channels : {16, 24, 64, 2048}) {
    for (const Sizes& sizes : {Sizes{1, 7, 1, channels}, Sizes{3, 5, 5, channels}}) {
      expect_all_unfused(sizes, [](const Setting& s) { return by_autograd(s); });
      // With so many channels the host's threads meet too often for every setting.
      if (channels < 2048) {
        expect_all_unfused(sizes, [](const Setting& s) { return by_threads(s, 8, 6); });
      }
    }
  }
  const Setting wide{{3, 5, 5, 2048}, torch::kBFloat16, Tail::relu, true};
  expect_unfused(by_threads(wide, 8, 6), wide);
}

TEST(FusedNorm, EqualsThemForOneRowAndForBlocksOfTheDevicesSize) {
  expect_all_unfused({1, 1, 1, 24}, [](const Setting& s) { return by_threads(s, 8, 6); });
  const Setting large{{2, 9, 9, 64}, torch::kBFloat16, Tail::add_relu, true};
  expect_unfused(by_threads(large, 256, 2), large);
}

TEST(FusedNorm, EqualsThemWhereEveryThreadGoesRoundManyTimes) {
  const Sizes many{4, 97, 101, 16};
  expect_all_unfused(many, [](const Setting& s) { return by_autograd(s); });
  const Setting setting{many, torch::kBFloat16, Tail::add_relu, true};
  expect_unfused(by_threads(setting, 8, 3), setting);
}

TEST(FusedNorm, EqualsThemOnACard) {
  if (!torch_sees_cuda()) GTEST_SKIP() << "this LibTorch sees no CUDA device";
  for (const Sizes& sizes : {Sizes{3, 5, 5, 24}, Sizes{2, 7, 7, 2048}, Sizes{16, 97, 101, 64}}) {
    expect_all_unfused(sizes, [](const Setting& s) { return by_autograd(s, torch::kCUDA); });
  }
}

TEST(FusedNorm, HasTheSameBitsTwiceForAnyNumberOfThreads) {
  const Setting setting{{4, 97, 101, 16}, torch::kFloat32, Tail::add_relu, true};
  const int threads = torch::get_num_threads();
  const Found one = by_autograd(setting);
  torch::set_num_threads(threads == 1 ? 2 : 1);
  const Found other = by_autograd(setting);
  torch::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(one.y, other.y));
  EXPECT_TRUE(torch::equal(one.x_gradient, other.x_gradient));
  EXPECT_TRUE(torch::equal(one.weight_gradient, other.weight_gradient));
  EXPECT_TRUE(torch::equal(one.running_variance, other.running_variance));
}

TEST(FusedNorm, TakesAnyOrderOfNumbersAndRefusesWhatItCannot) {
  torch::nn::BatchNorm2d norm(16);
  const auto x = torch::randn({2, 16, 5, 5});
  const auto last = x.contiguous(torch::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(torch::equal(norm_relu(*norm, x), norm_relu(*norm, last)));
  expect_error<Error>([&] { norm_relu(*norm, x.to(torch::kFloat64)); }, {"float32 or bfloat16"});
  expect_error<Error>([&] { norm_relu(*norm, x.slice(2, 0, 1).slice(3, 0, 1).slice(0, 0, 1)); },
                      {"single number"});
  expect_error<Error>([&] { norm_relu(*norm, x, last.to(torch::kBFloat16)); }, {"added"});
  torch::nn::BatchNorm2d odd(12);
  expect_error<Error>([&] { norm_relu(*odd, torch::randn({2, 12, 5, 5})); }, {"12 channels"});
}

TEST(BiasRelu, EqualsTheUnfusedOperators) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    for (const bool image : {true, false}) {
      torch::manual_seed(3);
      const std::vector<std::int64_t> sizes =
          image ? std::vector<std::int64_t>{3, 32, 7, 5} : std::vector<std::int64_t>{101, 128};
      const auto x = torch::randn(sizes).to(type).requires_grad_();
      const auto bias = torch::randn({sizes[1]}).requires_grad_();
      const auto gradient = torch::randn(sizes).to(type);
      const auto y = bias_relu(x, bias);
      y.backward(gradient);

      const auto same_x = x.detach().to(torch::kFloat64).requires_grad_();
      const auto same_bias = bias.detach().to(torch::kFloat64).requires_grad_();
      const auto shown = image ? same_bias.view({-1, 1, 1}) : same_bias;
      const auto sum = same_x + shown;
      const auto want = torch::relu(sum);
      const double rounding = type == torch::kFloat32 ? 0x1p-23 : 0x1p-8;
      expect_near("y", y.detach(), want.detach(), 0, rounding);
      EXPECT_TRUE(torch::equal(y > 0, want > 0));
      want.backward(gradient.to(torch::kFloat64));
      EXPECT_TRUE(torch::equal(x.grad().to(torch::kFloat64), same_x.grad()));
      // 105 numbers of size 1 are added up.
      expect_near("gradient of the bias", bias.grad(), same_bias.grad(), 105 * 105 * 0x1p-23, 0);
    }
  }
}

TEST(MaxPool, EqualsLibTorchsAlsoWhereItsResultIsUsedTwice) {
  torch::manual_seed(3);
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    for (const int window : {2, 3}) {
      // Integers, so that many are equal and that sums are exact in any order.
      const auto x = torch::randint(-4, 5, {3, 16, 11, 12}).to(type).requires_grad_();
      const auto y = max_pool(x, window);
      const auto same = x.detach().to(torch::kFloat64).requires_grad_();
      const auto want = torch::max_pool2d(same, window, 2, window - 2);
      EXPECT_TRUE(torch::equal(y.to(torch::kFloat64), want));
      EXPECT_EQ(y.scalar_type(), type);
      const auto one = torch::randint(-4, 5, y.sizes()), other = torch::randint(-4, 5, y.sizes());
      const Fork fork = forked(y);
      EXPECT_FALSE(fork.path.is_same(y));
      torch::autograd::backward({fork.path, fork.beside}, {one.to(type), other.to(type)});
      want.backward((one + other).to(torch::kFloat64));
      EXPECT_TRUE(torch::equal(x.grad().to(torch::kFloat64), same.grad()));
    }
  }
  const torch::NoGradGuard no_grad;
  const auto x = torch::randn({1, 8, 4, 4});
  EXPECT_TRUE(torch::equal(max_pool(x, 2), torch::max_pool2d(x, 2)));
}

TEST(FusedChain, EqualsTheChain) {
  torch::manual_seed(5);
  torch::nn::Sequential chain(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 16, 3).bias(false)), torch::nn::BatchNorm2d(16),
      torch::nn::ReLU(), torch::nn::MaxPool2d(2),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 8, 3).bias(false)), torch::nn::BatchNorm2d(8));
  const auto x = torch::randn({4, 3, 12, 12}), beside = torch::randn({4, 8, 3, 3});
  EXPECT_TRUE(torch::allclose(run_fused(*chain, x), chain->forward(x), 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(run_fused(*chain, x, beside), torch::relu(chain->forward(x) + beside),
                              1e-4, 1e-5));
  chain->push_back(torch::nn::Flatten());
  expect_error<Error>([&] { run_fused(*chain, x); }, {"Flatten"});
  torch::nn::Sequential wide(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions({2, 3})));
  expect_error<Error>([&] { run_fused(*wide, x); }, {"square windows"});
  torch::nn::Sequential large(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(5).stride(2)));
  expect_error<Error>([&] { run_fused(*large, x); }, {"windows of 2 or 3"});
}

TEST(Fork, IsAddedByAutogradWhereNothingElseCan) {
  torch::nn::BatchNorm2d norm(16);
  const auto x = torch::randn({2, 16, 5, 5}).requires_grad_();
  const auto gradient_with = [&](auto split) {
    const auto y = norm_relu(*norm, x);  // adds nothing, so its backward pass takes no second
    const Fork fork = split(y);
    torch::autograd::backward({(fork.path.pow(2) + fork.beside.pow(3)).sum()}, {});
    return std::exchange(x.mutable_grad(), {});
  };
  EXPECT_TRUE(torch::equal(gradient_with(&forked), gradient_with([](const torch::Tensor& y) {
                             return Fork{y, y};
                           })));
  const torch::NoGradGuard no_grad;
  const auto y = norm_relu(*norm, x, x.detach());
  EXPECT_TRUE(forked(y).path.is_same(y));
}

TEST(Fork, AddsAllThatItsUsersHaveAndEveryTimeAnew) {
  torch::nn::BatchNorm2d norm(16);
  const auto x = torch::randn({2, 16, 5, 5}).requires_grad_(), beside = torch::randn({2, 16, 5, 5});
  const auto y = norm_relu(*norm, x, beside);
  const Fork fork = forked(y);
  const auto gradient_of = [&](const torch::Tensor& result) {
    result.sum().backward({}, /*retain_graph=*/true);
    return std::exchange(x.mutable_grad(), {});
  };
  // A third user, one of the two alone, both, and again.
  const auto expected = gradient_of(y * 6);
  EXPECT_TRUE(torch::allclose(gradient_of(y + 2 * fork.path + 3 * fork.beside), expected));
  EXPECT_TRUE(torch::allclose(gradient_of(6 * fork.beside), expected));
  EXPECT_TRUE(torch::allclose(gradient_of(6 * fork.path), expected));
  EXPECT_TRUE(torch::allclose(gradient_of(2 * fork.path + 4 * fork.beside), expected));
}

TEST(Convolved, TakesImagesInEveryLayout) {
  torch::manual_seed(5);
  Dataset set{"noise", {3, 14, 16, 10}, {}, {1, 2}};
  for (int i = 0; i < 2 * 3 * 14 * 16; ++i) set.images.push_back(static_cast<std::uint8_t>(i * 89));
  torch::nn::Conv2d convolution = plain_convolution(3, 8, 7, 2);
  make_channels_last(*convolution);
  const auto run = [&](ImageLayout layout) {
    const OnePass pass{torch::kFloat32, layout};
    const ImageStore store(set, {3, 14, 16, 10}, torch::kCPU, pass);
    const auto images = store.at(torch::tensor({1, 0}, torch::kInt64), 0, {}).images;
    const auto y = convolved(*convolution, images);
    y.pow(2).sum().backward();
    return std::pair(y.detach(), std::exchange(convolution->weight.mutable_grad(), {}));
  };
  const auto [y, gradient] = run(ImageLayout::plain);
  EXPECT_EQ(y.size(2), 7);
  for (const ImageLayout layout : {ImageLayout::padded, ImageLayout::blocks}) {
    const auto [same_y, same_gradient] = run(layout);
    EXPECT_TRUE(torch::allclose(same_y, y, 1e-5, 1e-5));
    EXPECT_TRUE(torch::allclose(same_gradient, gradient, 1e-4, 1e-4));
  }
}

// Whole networks: the fused layers take the place of the others without changing what is computed.

/// The distance of two tensors over the size of one.
double apart(const torch::Tensor& got, const torch::Tensor& want) {
  return ((got - want).norm() / want.norm().clamp_min(1e-12)).item<double>();
}

/// Logits in training, all gradients, statistics and logits in evaluation, in float64.
std::vector<torch::Tensor> found_by(const char* model, torch::ScalarType type, bool fused) {
  const auto network = make_network(model, 3);
  if (type == torch::kFloat64) network->to(type);
  make_channels_last(*network);
  network->seed_dropout(5);
  if (fused) {
    EXPECT_TRUE(network->fuse());
  }
  const ImageShape& shape = model_named(model).shape;
  torch::manual_seed(11);
  const auto drawn = torch::rand({6, shape.channels, shape.height, shape.width}) * 2 - 1;
  const auto images = drawn.to(type).contiguous(torch::MemoryFormat::ChannelsLast);
  std::vector<torch::Tensor> found{network->forward(images)};
  torch::log_softmax(found[0], 1).select(1, 1).mean().neg().backward();
  for (const torch::Tensor& parameter : network->parameters()) found.push_back(parameter.grad());
  for (const torch::Tensor& buffer : network->buffers()) found.push_back(buffer);
  network->eval();
  found.push_back(network->forward(images));
  for (torch::Tensor& tensor : found) tensor = tensor.detach().to(torch::kFloat64);
  return found;
}

TEST(FusedNetwork, IsAsCloseToFloat64AsTheUnfusedOne) {
  for (const char* model : {"mnist_cnn", "resnet20", "resnet50"}) {
    const auto exact = found_by(model, torch::kFloat64, false);
    const auto plain = found_by(model, torch::kFloat32, false);
    const auto fused = found_by(model, torch::kFloat32, true);
    double plain_apart = 0, fused_apart = 0;  // means over the tensors
    const auto count = static_cast<double>(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      plain_apart += apart(plain[i], exact[i]) / count;
      fused_apart += apart(fused[i], exact[i]) / count;
      EXPECT_LT(apart(fused[i], exact[i]), 0.2) << model << ", tensor " << i;
    }
    // In deep networks both are chance, of ReLUs that a rounding turns on or off. In shallow ones
    // that the unfused sums of a CPU are float64, where these are float32.
    EXPECT_LT(fused_apart, 3 * plain_apart + 1e-3) << model;
    EXPECT_LT(apart(fused[0], exact[0]), 1e-4) << model;
  }
}

TEST(FusedNetwork, IsRefusedWhereNothingCouldBeFused) {
  EXPECT_EQ(why_not_fused(choose_model("resnet20", {})), "");
  EXPECT_EQ(why_not_fused(choose_model("mnist_cnn", {})), "");
  EXPECT_NE(why_not_fused(choose_model("mlp", {})).find("mlp has no batch normalisation"),
            std::string::npos);
  EXPECT_FALSE(make_network("mlp", 1)->fuse());
}

}  // namespace
}  // namespace scalebench
