// SPDX-License-Identifier: Apache-2.0
// SGD with momentum and Adam over parameters that are float32 without gaps: one pass over memory,
// on a GPU in one kernel for all of them. LibTorch's torch::optim has only the loop over
// parameters. The results agree with it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace scalebench {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates all parameters from their .grad, every one of which must be defined. Throws UsageError
  /// when parameters and gradients are not all float32 without gaps.
  virtual void step(double learning_rate) = 0;
  /// The rate of later steps, put where a step() finds it that is recorded and replayed. False
  /// where a replay would go on with the rate, and the corrections, that it was recorded with.
  virtual bool set_rate(double learning_rate) = 0;
  /// What it remembers beside the parameters, by name: the tensors themselves, and counters as
  /// float64 scalars. restore() copies from such a list; throws UsageError when names or sizes
  /// differ.
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;
  virtual void restore(const std::vector<std::pair<std::string, at::Tensor>>& state) = 0;
};

/// `sgd` (momentum .9) and `adam` (betas .9 and .999, epsilon 1e-8); neither decays weights.
std::span<const std::string_view> optimizer_names();

/// Throws UsageError for an unknown name. The optimizer's state lives where the parameters live.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const std::vector<at::Tensor>& parameters);

}  // namespace scalebench
