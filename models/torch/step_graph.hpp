// SPDX-License-Identifier: Apache-2.0
// A whole step after the batch is there (forward, backward, update) recorded once as a CUDA graph
// and then replayed: its hundreds of kernels start as one, which wins where launching them takes
// longer than running them. Only a LibTorch with CUDA has it.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

namespace scalebench {

/// Before the network is built: the calling thread works on a stream of its own from now on, since
/// the default stream cannot be recorded. Throws UsageError in one line where there are no graphs.
void begin_step_graphs(torch::Device device);

/// What is recorded.
struct RecordedStep {
  /// Enqueues a step on these images and labels and returns its loss.
  std::function<torch::Tensor(const torch::Tensor& images, const torch::Tensor& labels)> run;
  /// Whose random numbers it draws, asked just before recording.
  std::function<std::vector<at::Generator>()> generators;
};

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  /// One step, launched as it is for kStepsBeforeGraph steps, then recorded, then replayed. All
  /// calls need the same number of images. Returns the loss. Throws UsageError when the step does
  /// what cannot be recorded, OutOfMemory when there is too little to record it.
  virtual torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels) = 0;
};

std::unique_ptr<StepGraph> make_step_graph(RecordedStep step);

}  // namespace scalebench
