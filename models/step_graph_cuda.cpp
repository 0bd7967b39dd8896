// SPDX-License-Identifier: Apache-2.0
// step_graph.hpp on LibTorch's CUDAGraph, whose memory pool keeps every intermediate in place.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/error.hpp"
#include "models/step_graph.hpp"
#include "models/torch_error.hpp"

namespace scalebench {
namespace {

/// Steps as they are, so that libraries have chosen their kernels and made their workspaces.
constexpr int kEagerSteps = 11;

class StepGraph final : public ModelPass {
 public:
  StepGraph(ModelPass& pass, std::function<void(Phase)> enter)
      : pass_(pass), enter_(std::move(enter)) {}

  torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels,
                    double gradient_scale) override {
    enter_(Phase::forward);
    if (!images_.defined()) {
      images_ = images.clone();
      labels_ = labels.clone();
    } else {
      images_.copy_(images);
      labels_.copy_(labels);
    }
    if (steps_++ < kEagerSteps) return pass_.run(images_, labels_, gradient_scale);
    if (!loss_.defined()) record(gradient_scale);
    graph_.replay();
    return loss_.clone();  // the next replay overwrites it
  }

 private:
  void record(double gradient_scale) {
    try {
      graph_.capture_begin();
      const torch::Tensor loss = pass_.run(images_, labels_, gradient_scale);
      graph_.capture_end();
      loss_ = loss;
    } catch (const std::exception& error) {
      fail<UsageError>("--step-graph: this model's step cannot be recorded: {}", last_line(error));
    }
  }

  ModelPass& pass_;
  std::function<void(Phase)> enter_;
  int steps_ = 0;
  // Destroyed after the graph that reads and writes them.
  torch::Tensor images_;
  torch::Tensor labels_;
  torch::Tensor loss_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

void begin_step_graphs(torch::Device device) {
  if (!device.is_cuda()) fail<UsageError>("--step-graph: graphs are CUDA's, not for device cpu");
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
}

std::unique_ptr<ModelPass> make_step_graph(ModelPass& pass, std::function<void(Phase)> enter) {
  return std::make_unique<StepGraph>(pass, std::move(enter));
}

}  // namespace scalebench
