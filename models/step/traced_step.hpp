// SPDX-License-Identifier: Apache-2.0
// A training step as it was recorded on one device: for each layer how long its forward and its
// backward pass took and how many gradients it makes, for whoever predicts other numbers of ranks.
// Free of LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// A profile, and on what it was recorded.
struct TracedStep : StepProfile {
  std::string model;  // a result file's label
  std::int64_t parameters = 0;
  std::string device;
  std::string dtype;
  int threads = 1;
  int steps = 0;  // recorded
};

/// Throws UsageError with file, line and column of malformed JSON, and with file and key of a value
/// that is missing, unknown or impossible.
TracedStep read_traced_step(const std::filesystem::path& file);
/// `text` as if read from `file`, which only names it in errors.
TracedStep parse_traced_step(std::string_view text, const std::string& file);

/// What read_traced_step reads; a line for each layer.
std::string json_of(const TracedStep& trace);

}  // namespace scalebench
