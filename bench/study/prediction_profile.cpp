// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/study/least_squares.hpp"

namespace scalebench {
namespace {

/// A step with that many images over one with the profiled batch.
double relative_seconds(const StepProfile& profile, double batch,
                        std::span<const BatchSeconds> measured) {
  std::vector<double> fixed{1}, images{static_cast<double>(profile.batch)};
  for (const BatchSeconds& one : measured) {
    fixed.push_back(1 / one.relative);
    images.push_back(one.batch / one.relative);
  }
  const std::vector<double> target(fixed.size(), 1.0);
  const std::vector<double> x = nonnegative_least_squares({fixed, images}, target);
  return x[0] + x[1] * batch;
}

}  // namespace

double StepProfile::forward_seconds() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) sum += layer.forward_seconds;
  return sum;
}

double StepProfile::backward_seconds() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) sum += layer.backward_seconds;
  return sum;
}

double StepProfile::seconds() const {
  return load_seconds + forward_seconds() + backward_seconds() + update_seconds + host_seconds;
}

double StepProfile::gradients() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) {
    for (const std::int64_t count : layer.gradients) sum += static_cast<double>(count);
  }
  return sum;
}

StepProfile stretched(StepProfile profile, double factor) {
  for (LayerProfile& layer : profile.layers) {
    layer.forward_seconds *= factor;
    layer.backward_seconds *= factor;
  }
  for (double* seconds : {&profile.load_seconds, &profile.update_seconds, &profile.host_seconds}) {
    *seconds *= factor;
  }
  for (double& seconds : profile.step_seconds) seconds *= factor;
  return profile;
}

StepProfile with_batch(const StepProfile& profile, double batch,
                       std::span<const BatchSeconds> measured) {
  const double whole = profile.seconds();
  const double fixed = profile.update_seconds + profile.host_seconds;
  double factor = batch / static_cast<double>(profile.batch);
  if (!measured.empty() && whole > fixed) {
    const double wanted = whole * relative_seconds(profile, batch, measured);
    factor = std::max(0.0, wanted - fixed) / (whole - fixed);
  }
  StepProfile of_images = stretched(profile, factor);
  of_images.update_seconds = profile.update_seconds;
  of_images.host_seconds = profile.host_seconds;
  of_images.step_seconds = profile.step_seconds;
  for (double& seconds : of_images.step_seconds) seconds *= of_images.seconds() / whole;
  of_images.batch = std::llround(batch);
  return of_images;
}

double expected_longest(std::vector<double> samples, double ranks) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(samples);
  const auto n = static_cast<double>(samples.size());
  double mean = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto below = static_cast<double>(i);
    mean += samples[i] * (std::pow((below + 1) / n, ranks) - std::pow(below / n, ranks));
  }
  return mean;
}

}  // namespace scalebench
