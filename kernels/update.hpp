// SPDX-License-Identifier: Apache-2.0
// Optimizers' update rules in one pass over memory, where a chain of tensor operations makes three
// (sgd) or eight (adam). Wins for models that fit the cache: on 108 830 parameters adam is the
// largest part of a step that is not a matrix product.
#pragma once

#include <span>

namespace scalebench {

/// velocities = momentum * velocities + gradients; parameters -= rate * velocities. Host memory,
/// equal sizes.
void sgd_update(std::span<float> parameters, std::span<const float> gradients,
                std::span<float> velocities, float momentum, float rate);

/// The constants of one step of Adam: `step_size` = rate / (1 - beta1^t), `bias2_root` =
/// sqrt(1 - beta2^t) at step t, counted from 1.
struct AdamStep {
  double beta1, beta2, epsilon, step_size, bias2_root;
};

/// means and squares decay towards the gradient and its square; parameters -= step_size * means /
/// (sqrt(squares) / bias2_root + epsilon). Host memory, equal sizes.
void adam_update(std::span<float> parameters, std::span<const float> gradients,
                 std::span<float> means, std::span<float> squares, const AdamStep& step);

}  // namespace scalebench
