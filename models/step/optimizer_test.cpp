// SPDX-License-Identifier: Apache-2.0
#include "models/step/optimizer.hpp"

#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include "models/testing.hpp"

namespace scalebench {
namespace {

using Tensors = std::vector<torch::Tensor>;

Tensors start() { return {torch::linspace(-1, 1, 37), torch::linspace(0, 3, 40).view({5, 8})}; }

/// Ten steps on gradients that change, by ours and by LibTorch's own.
void expect_agreement(const char* name, torch::optim::Optimizer& reference, const Tensors& theirs) {
  const Tensors ours = start();
  const auto optimizer = make_optimizer(name, ours);
  for (int step = 1; step <= 10; ++step) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto gradient = torch::sin(torch::arange(ours[i].numel()) * step).view_as(ours[i]);
      ours[i].mutable_grad() = gradient.clone();
      theirs[i].mutable_grad() = gradient.clone();
    }
    optimizer->step(0.01);
    reference.step();
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_FALSE(torch::allclose(ours[i], start()[i], 1e-3, 1e-3));
    EXPECT_TRUE(torch::allclose(ours[i], theirs[i], 1e-6, 1e-7)) << ours[i] - theirs[i];
  }
}

TEST(Optimizer, SgdAgreesWithLibTorch) {
  const Tensors theirs = start();
  torch::optim::SGD reference(theirs, torch::optim::SGDOptions(0.01).momentum(0.9));
  expect_agreement("sgd", reference, theirs);
}

TEST(Optimizer, AdamAgreesWithLibTorch) {
  const Tensors theirs = start();
  torch::optim::Adam reference(theirs, torch::optim::AdamOptions(0.01));
  expect_agreement("adam", reference, theirs);
}

TEST(Optimizer, RefusesGradientsThatAreNoArrays) {
  for (const char* name : {"sgd", "adam"}) {
    const Tensors parameters{torch::ones({8, 5})};
    parameters[0].mutable_grad() = torch::ones({8, 10}).narrow(1, 0, 5);
    expect_error([&] { make_optimizer(name, parameters)->step(0.01); }, {"without gaps"});
  }
}

TEST(Optimizer, RefusesUnknownNames) {
  expect_error([] { make_optimizer("adamm", start()); }, {"adamm", "did you mean 'adam'"});
}

}  // namespace
}  // namespace scalebench
