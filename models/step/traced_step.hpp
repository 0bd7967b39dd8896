// SPDX-License-Identifier: Apache-2.0
// A training step as it was recorded on one device: for each layer how long its forward and its
// backward pass took and how many gradients it makes, for whoever predicts other numbers of ranks.
// Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

struct TracedLayer {
  std::string name;
  /// Medians over the recorded steps. The intervals of a pass follow each other without a gap:
  /// those of the forward pass end with their layer, those of the backward pass with its last
  /// gradient. Layers without parameters belong to the next one that has some in the backward pass.
  double forward_seconds = 0;
  double backward_seconds = 0;
  /// Elements (float32) of each parameter, in the network's order; empty for a layer without any.
  std::vector<std::int64_t> gradients;
};

/// How long the parts of a step take.
struct StepProfile {
  std::int64_t batch = 0;           // images of the step
  std::vector<TracedLayer> layers;  // in the order of the forward pass
  /// Medians over the recorded steps: waiting for images, the update, and what belongs to no phase.
  double load_seconds = 0;
  double update_seconds = 0;
  double host_seconds = 0;
  std::vector<double> step_seconds;  // of each whole step, as measured

  double forward_seconds() const;   // all layers
  double backward_seconds() const;  // as well
  double seconds() const;           // of a whole step: the sum of its medians
  double gradients() const;         // elements of all parameters
};

/// The profile in `text`, which is the content of `file`; other keys are left unread. Throws
/// UsageError with line and column of malformed JSON, else with the file and what is wrong.
StepProfile parse_profile(std::string_view text, const std::string& file);

/// What parse_profile reads.
std::string json_of(const StepProfile& profile);

}  // namespace scalebench
