// SPDX-License-Identifier: Apache-2.0
// Plain loops over restrict pointers, which the compiler turns into vectors: one clone for wide
// registers, chosen when the program is loaded. Products and sums stay two roundings in both, so
// that every machine computes the same bits.
#include "kernels/update.hpp"

#include <cmath>
#include <cstddef>

#include "kernels/error.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define SCALEBENCH_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SCALEBENCH_WIDE
#endif

namespace scalebench {
namespace {

SCALEBENCH_WIDE void sgd_loop(std::size_t n, float* __restrict parameters,
                              const float* __restrict gradients, float* __restrict velocities,
                              float momentum, float rate) {
  for (std::size_t i = 0; i < n; ++i) {
    velocities[i] = momentum * velocities[i] + gradients[i];
    parameters[i] -= rate * velocities[i];
  }
}

SCALEBENCH_WIDE void adam_loop(std::size_t n, float* __restrict parameters,
                               const float* __restrict gradients, float* __restrict means,
                               float* __restrict squares, float beta1, float rest1, float beta2,
                               float rest2, float epsilon, float step_size, float bias2_root) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = gradients[i];
    means[i] = beta1 * means[i] + rest1 * gradient;
    squares[i] = beta2 * squares[i] + rest2 * gradient * gradient;
    parameters[i] -= step_size * means[i] / (std::sqrt(squares[i]) / bias2_root + epsilon);
  }
}

template <class... Spans>
void require_equal_sizes(std::size_t count, const Spans&... others) {
  if (((others.size() != count) || ...)) fail("an update of spans of different sizes");
}

}  // namespace

void sgd_update(std::span<float> parameters, std::span<const float> gradients,
                std::span<float> velocities, float momentum, float rate) {
  require_equal_sizes(parameters.size(), gradients, velocities);
  sgd_loop(parameters.size(), parameters.data(), gradients.data(), velocities.data(), momentum,
           rate);
}

void adam_update(std::span<float> parameters, std::span<const float> gradients,
                 std::span<float> means, std::span<float> squares, const AdamStep& step) {
  const auto single = [](double value) { return static_cast<float>(value); };
  require_equal_sizes(parameters.size(), gradients, means, squares);
  adam_loop(parameters.size(), parameters.data(), gradients.data(), means.data(), squares.data(),
            single(step.beta1), single(1 - step.beta1), single(step.beta2), single(1 - step.beta2),
            single(step.epsilon), single(step.step_size), single(step.bias2_root));
}

}  // namespace scalebench
