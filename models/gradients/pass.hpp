// SPDX-License-Identifier: Apache-2.0
// The forward and backward pass of a step. The usual one runs the whole network, in float32 or
// under autocast, in one go or in several whose gradients add up; strategies that cut the network
// bring their own.
#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "collectives/steps.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/network.hpp"
#include "models/step/step_trace.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

class ModelPass {
 public:
  virtual ~ModelPass() = default;
  /// images: float32 (n, channels, height, width), labels: int64 (n), n = images of a step of this
  /// worker. Leaves the gradients of the mean loss, times `gradient_scale`, and returns that loss
  /// (float32 scalar, not scaled). Begins and leaves phases by itself, and calls begin_step() and
  /// before_last_backward() of the gradient sync.
  virtual torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels,
                            double gradient_scale) = 0;
};

struct PassOptions {
  Loss loss = Loss::cross_entropy;
  Precision precision = Precision::float32;
  /// Backward passes of a step, each over that part of its images, whose gradients add up.
  std::int64_t parts = 1;
};

/// The whole network on this rank.
class NetworkPass final : public ModelPass {
 public:
  /// `enter` is called where a phase begins.
  NetworkPass(Network& network, GradientSync& sync, const PassOptions& options,
              std::function<void(Phase)> enter);
  torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels,
                    double gradient_scale) override;

  /// From now on tells `trace` of each layer, as LayerMarks do; null: no more.
  void trace_layers(LayerTrace* trace);

 private:
  Network& network_;
  GradientSync& sync_;
  const PassOptions options_;
  std::function<void(Phase)> enter_;
  std::optional<LayerMarks> marks_;
};

// The pass of one stage of a network that is cut over ranks, stage s on rank s: GPipe, Huang et al.
// 2019. The images of a step are cut into micro-batches; all go forward, then backward in reverse,
// so that stages work at once on different ones. Of m micro-batches through p stages each stage is
// idle for (p-1)/(m+p-1) of the time at best.

struct PipelineStage {
  std::vector<Layer> layers;
  /// What the first of them takes of one image, always float32.
  std::vector<std::int64_t> input_sizes;
};

class PipelinePass final : public ModelPass {
 public:
  /// `stage`: this rank's. `sync` is told of the step's beginning.
  PipelinePass(StagedExchange& ranks, PipelineStage stage, int micro_batches, GradientSync& sync,
               StepTrace& trace);

  /// Collective, with the images and labels of the whole step on every rank: the first stage uses
  /// the ones, the last the others. Leaves gradients of this stage's parameters; returns the loss
  /// on every rank.
  torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels,
                    double gradient_scale) override;

 private:
  bool first() const { return place_ == 0; }
  bool last() const { return place_ + 1 == stages_; }

  void forward(const torch::Tensor& images, const torch::Tensor& labels);
  void backward(double gradient_scale);
  double share_loss();
  torch::Tensor through_layers(torch::Tensor values) const;

  /// Passes on and takes over at once; undefined tensors do not take place. All of it is waiting
  /// for the neighbours.
  void swap(const torch::Tensor& out, int to, const torch::Tensor& in, int from);
  torch::Tensor room_for_input(std::int64_t images) const;

  StagedExchange& ranks_;
  PipelineStage stage_;
  int micro_batches_;
  GradientSync& sync_;
  StepTrace& trace_;
  int place_;  // of this stage among them
  int stages_;
  torch::Device device_ = torch::kCPU;
  // By micro-batch, within a step; on the last stage an output is the loss.
  std::vector<torch::Tensor> inputs_;
  std::vector<torch::Tensor> outputs_;
  torch::Tensor loss_;
};

}  // namespace scalebench
