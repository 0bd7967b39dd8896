// SPDX-License-Identifier: Apache-2.0
#include "kernels/update.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Values = std::vector<float>;

// 37: not a multiple of any vector, so that remainders are computed too.
Values values(float scale) {
  Values result(37);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = scale * std::sin(static_cast<float>(i));
  }
  return result;
}

TEST(Update, SgdIsMomentumThenRate) {
  Values parameters = values(1), velocities = values(3);
  const Values gradients = values(2), before = parameters, velocity = velocities;
  sgd_update(parameters, gradients, velocities, 0.5F, 0.25F);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float expected = 0.5F * velocity[i] + gradients[i];
    EXPECT_EQ(velocities[i], expected);
    EXPECT_EQ(parameters[i], before[i] - 0.25F * expected);
  }
}

TEST(Update, AdamsFirstStepIsTheRateInTheGradientsDirection) {
  Values parameters(37), means(37), squares(37);
  const Values gradients = values(2);
  // At t = 1 both bias corrections undo the decay: the step is rate * g / |g|.
  adam_update(parameters, gradients, means, squares,
              {0.9, 0.999, 0, 0.01 / (1 - 0.9), std::sqrt(1 - 0.999)});
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    EXPECT_NEAR(parameters[i], gradients[i] > 0 ? -0.01F : 0.01F, 1e-6F) << i;
    EXPECT_NEAR(means[i], 0.1F * gradients[i], 1e-6F);
    EXPECT_NEAR(squares[i], 0.001F * gradients[i] * gradients[i], 1e-8F);
  }
}

TEST(Update, EveryElementIsComputedAlikeWhereverItLies) {
  // Vectors and remainders must agree in every bit: replicas are cut differently.
  for (std::size_t first = 0; first < 9; ++first) {
    Values whole = values(1), part(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end());
    const Values gradients = values(2);
    const std::span<const float> rest = std::span(gradients).subspan(first);
    Values m(37), s(37), m_part(rest.size()), s_part(rest.size());
    const AdamStep step{0.9, 0.999, 1e-8, 0.1, 0.3};
    adam_update(whole, gradients, m, s, step);
    adam_update(part, rest, m_part, s_part, step);
    for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[first + i]);
  }
}

TEST(Update, RefusesDifferentSizes) {
  Values five(5), four(4);
  EXPECT_THROW(sgd_update(five, four, five, 0, 0), Error);
  EXPECT_THROW(adam_update(five, five, five, four, {}), Error);
}

}  // namespace
}  // namespace scalebench
