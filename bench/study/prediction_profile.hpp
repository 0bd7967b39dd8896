// SPDX-License-Identifier: Apache-2.0
// One training step of a single rank, as a prediction takes it: what each layer costs and how many
// gradients it makes; and what that becomes with other batches and beside other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scalebench {

struct LayerProfile {
  double forward_seconds = 0;
  double backward_seconds = 0;            // ends when the gradients of the layer are there
  std::vector<std::int64_t> gradients{};  // elements of each parameter
};

struct StepProfile {
  std::int64_t batch = 0;              // images
  std::vector<LayerProfile> layers{};  // in the order of the forward pass
  double load_seconds = 0;
  double update_seconds = 0;
  double host_seconds = 0;             // what belongs to nothing else
  std::vector<double> step_seconds{};  // whole steps, as measured one by one

  double forward_seconds() const;
  double backward_seconds() const;
  double seconds() const;    // of a whole step
  double gradients() const;  // elements of all parameters
};

/// Every part of it, and each step, times `factor`.
StepProfile stretched(StepProfile profile, double factor);

/// A whole step of one rank with that many images, in units of a step with the profiled batch.
struct BatchSeconds {
  double batch = 0;
  double relative = 1;
};

/// The profile with `batch` images. A step is a fixed part and one for each image, fitted to
/// `measured` and the profile itself; without any, the update and the host are the fixed part.
/// Images take their part of loading, forward and backward pass. Requires batch > 0.
StepProfile with_batch(const StepProfile& profile, double batch,
                       std::span<const BatchSeconds> measured);

/// Mean of the longest of `ranks` independent draws from `samples`: sum over the sorted samples of
/// x_i ((i/n)^ranks - ((i-1)/n)^ranks). NaN without any.
double expected_longest(std::vector<double> samples, double ranks);

}  // namespace scalebench
