// SPDX-License-Identifier: Apache-2.0
#include "models/epoch_rule.hpp"

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::int64_t kMlpSteps = 60'000 / 10;
constexpr std::int64_t kMnistCnnSteps = 500;

}  // namespace

std::int64_t seed_steps_per_epoch(std::string_view model, int workers) {
  if (model == "mlp") return kMlpSteps;
  if (model != "mnist_cnn") {
    fail<UsageError>("epoch rule seed: the documents have none for {}; expected mlp or mnist_cnn",
                     model);
  }
  if (workers > kMnistCnnSteps) {
    fail<UsageError>("epoch rule seed: {} // {} workers leaves no step; expected at most {}",
                     kMnistCnnSteps, workers, kMnistCnnSteps);
  }
  return kMnistCnnSteps / workers;
}

}  // namespace scalebench
