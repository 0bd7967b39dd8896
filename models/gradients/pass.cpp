// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/pass.hpp"

#include "kernels/error.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/loss.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {

NetworkPass::NetworkPass(Network& network, GradientSync& sync, const PassOptions& options,
                         std::function<void(Phase)> enter)
    : network_(network), sync_(sync), options_(options), enter_(std::move(enter)) {}

void NetworkPass::trace_layers(LayerTrace* trace) {
  marks_.reset();
  if (trace != nullptr) marks_.emplace(network_, *trace);
}

torch::Tensor NetworkPass::run(const torch::Tensor& images, const torch::Tensor& labels,
                               double gradient_scale) {
  const std::int64_t parts = options_.parts;
  const std::int64_t length = images.size(0) / parts;
  const auto part_of = [&](const torch::Tensor& all, std::int64_t part) {
    return parts == 1 ? all : all.narrow(0, part * length, length);
  };
  torch::Tensor sum;
  for (std::int64_t part = 0; part < parts; ++part) {
    enter_(Phase::forward);
    if (part == 0) sync_.begin_step();
    torch::Tensor loss;
    {
      const AutocastScope scope(options_.precision, images.device());
      const torch::Tensor inputs = part_of(images, part);
      const auto outputs = marks_ ? marks_->forward(inputs) : network_.forward(inputs);
      loss = loss_of(options_.loss, outputs, part_of(labels, part));
    }
    if (parts > 1) loss = loss / static_cast<double>(parts);
    const torch::Tensor value = loss.detach();
    sum = part == 0 ? value : sum + value;
    enter_(Phase::backward);
    if (part + 1 == parts) sync_.before_last_backward();
    if (gradient_scale != 1) loss = loss * gradient_scale;
    loss.backward();
  }
  return sum;
}

// Deadlock-free though every exchange blocks: that of stage s after micro-batch m ends when stage
// s-1 has ended its own after m and stage s+1 its own after m-2, so each waits only for smaller
// s + m; backward is the mirror image.

PipelinePass::PipelinePass(StagedExchange& ranks, PipelineStage stage, int micro_batches,
                           GradientSync& sync, StepTrace& trace)
    : ranks_(ranks),
      stage_(std::move(stage)),
      micro_batches_(micro_batches),
      sync_(sync),
      trace_(trace),
      place_(ranks.communicator().rank()),
      stages_(ranks.communicator().size()) {}

torch::Tensor PipelinePass::run(const torch::Tensor& images, const torch::Tensor& labels,
                                double gradient_scale) {
  if (images.size(0) % micro_batches_ != 0) {
    fail<UsageError>("{} images a step cannot be cut into {} micro-batches; expected a divisor",
                     images.size(0), micro_batches_);
  }
  trace_.enter(Phase::forward);
  sync_.begin_step();
  device_ = images.device();
  inputs_.assign(static_cast<std::size_t>(micro_batches_), {});
  outputs_ = inputs_;
  forward(images, labels);
  sync_.before_last_backward();
  backward(gradient_scale);
  return torch::scalar_tensor(share_loss(), torch::kFloat32);
}

void PipelinePass::forward(const torch::Tensor& images, const torch::Tensor& labels) {
  const std::int64_t length = images.size(0) / micro_batches_;
  loss_ = torch::zeros({}, torch::TensorOptions(torch::kFloat32).device(device_));
  if (!first()) {
    inputs_[0] = room_for_input(length);
    swap({}, place_, inputs_[0], place_ - 1);
  }
  for (std::size_t m = 0; m < inputs_.size(); ++m) {
    const std::int64_t begin = static_cast<std::int64_t>(m) * length;
    trace_.enter(Phase::forward);
    if (first()) {
      inputs_[m] = images.narrow(0, begin, length);
    } else {
      inputs_[m].requires_grad_();
    }
    torch::Tensor& output = outputs_[m] = through_layers(inputs_[m]);
    if (last()) {
      output = torch::cross_entropy_loss(output, labels.narrow(0, begin, length)) /
               static_cast<double>(micro_batches_);
      loss_ += output.detach();
    }
    const bool more = m + 1 < inputs_.size();
    if (!first() && more) inputs_[m + 1] = room_for_input(length);
    swap(last() ? torch::Tensor() : output.detach(), place_ + 1,
         !first() && more ? inputs_[m + 1] : torch::Tensor(), place_ - 1);
  }
}

void PipelinePass::backward(double gradient_scale) {
  torch::Tensor gradient;
  if (!last()) {
    gradient = torch::empty_like(outputs_.back(), torch::MemoryFormat::Contiguous);
    swap({}, place_, gradient, place_ + 1);
  }
  for (std::size_t left = outputs_.size(); left > 0; --left) {
    const std::size_t m = left - 1;
    trace_.enter(Phase::backward);
    if (last()) {
      (outputs_[m] * gradient_scale).backward();
    } else if (outputs_[m].requires_grad()) {
      outputs_[m].backward(gradient);
    }
    if (!last() && m > 0) {
      gradient = torch::empty_like(outputs_[m - 1], torch::MemoryFormat::Contiguous);
    }
    swap(first() ? torch::Tensor() : inputs_[m].grad(), place_ - 1,
         last() || m == 0 ? torch::Tensor() : gradient, place_ + 1);
    outputs_[m].reset();
    inputs_[m].reset();
  }
}

double PipelinePass::share_loss() {
  torch::Tensor loss =
      last() ? loss_.to(torch::kCPU, torch::kFloat64) : torch::zeros({}, torch::kFloat64);
  // Along the pipeline, the way of the gradients: nobody waits for it who has not waited already.
  if (!last()) swap({}, place_, loss, place_ + 1);
  if (!first()) swap(loss, place_ - 1, {}, place_);
  return loss.item<double>();
}

torch::Tensor PipelinePass::through_layers(torch::Tensor values) const {
  for (const Layer& layer : stage_.layers) values = layer.run(values);
  return values;
}

void PipelinePass::swap(const torch::Tensor& out, int to, const torch::Tensor& in, int from) {
  if (!out.defined() && !in.defined()) return;
  trace_.enter(Phase::sync);
  const torch::Tensor sent = out.defined() ? out.contiguous() : out;
  trace_.posted(Exchange::wait);
  ranks_.exchange(sent.defined() ? span_of_tensor(sent) : Span{}, to,
                  in.defined() ? span_of_tensor(in) : Span{}, from);
  trace_.ended();
}

torch::Tensor PipelinePass::room_for_input(std::int64_t images) const {
  std::vector<std::int64_t> sizes{images};
  sizes.insert(sizes.end(), stage_.input_sizes.begin(), stage_.input_sizes.end());
  return torch::empty(sizes, torch::TensorOptions(torch::kFloat32).device(device_));
}

}  // namespace scalebench
