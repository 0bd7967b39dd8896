// SPDX-License-Identifier: Apache-2.0
// The forward and backward pass of a step. The usual one runs the whole network, in float32 or
// under autocast, in one go or in several whose gradients add up; strategies that cut the network
// bring their own.
#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>

#include "models/gradient_sync.hpp"
#include "models/layer_marks.hpp"
#include "models/network.hpp"
#include "models/step_trace.hpp"
#include "models/trainer_options.hpp"

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

/// The whole network on this rank.
class NetworkPass final : public ModelPass {
 public:
  /// `enter` is called where a phase begins.
  NetworkPass(Network& network, GradientSync& sync, const TrainerOptions& options,
              std::function<void(Phase)> enter);
  torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels,
                    double gradient_scale) override;

  /// From now on tells `trace` of each layer, as LayerMarks do; null: no more.
  void trace_layers(LayerTrace* trace);

 private:
  Network& network_;
  GradientSync& sync_;
  const TrainerOptions& options_;
  std::function<void(Phase)> enter_;
  std::optional<LayerMarks> marks_;
};

}  // namespace scalebench
