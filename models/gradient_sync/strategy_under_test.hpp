// SPDX-License-Identifier: Apache-2.0
// For tests: a gradient sync on two small parameters, without a network, and a step of it.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string_view>
#include <vector>

#include "models/gradients/gradient_sync.hpp"

namespace scalebench {

inline std::vector<torch::Tensor> two_parameters() {
  return {torch::ones({2, 3}, torch::requires_grad()), torch::ones({5}, torch::requires_grad())};
}

/// What a strategy is made from, for tests.
struct StrategyUnderTest {
  StrategyUnderTest(Communicator& ranks, const char* algorithm) : communicator(ranks) {
    if (algorithm != nullptr) allreduce = &allreduce_named(algorithm);
  }
  std::unique_ptr<GradientSync> make(std::string_view name) {
    return gradient_sync_named(name).make(
        {parameters, communicator, allreduce, "sgd", trace, options});
  }
  Communicator& communicator;
  const AllreduceAlgorithm* allreduce = nullptr;
  std::vector<torch::Tensor> parameters = two_parameters();
  NoTrace trace;
  GradientSyncOptions options;
};

/// A step up to the update; d(loss)/d(p) is `factor` everywhere.
inline void pass(GradientSync& sync, const std::vector<torch::Tensor>& parameters, double factor) {
  sync.begin_step();
  sync.before_last_backward();
  (factor * (parameters[0].sum() + parameters[1].sum())).backward();
  sync.synchronise();
}

}  // namespace scalebench
