// SPDX-License-Identifier: Apache-2.0
// Variables live in the host memory of rank 0, which alone updates them, as in TensorFlow's
// CentralStorageStrategy. Phases: gradients to rank 0 and their mean; update; weights back. Cost:
// 2(p-1)n numbers through one rank's memory, and p-1 ranks idle during the update. Wins only where
// accelerators have no room for the optimizer's state and hang on one host.
#include "collectives/steps.hpp"
#include "kernels/buffer.hpp"
#include "models/gradients/divided.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench::gradient_sync {
namespace {

/// What travels, if that is host memory, else memory of its own.
torch::Tensor on_host(Span wire) {
  const auto count = static_cast<std::int64_t>(wire.count);
  if (wire.memory == Memory::host) return torch::from_blob(wire.data, {count}, torch::kFloat32);
  return torch::zeros({count}, torch::kFloat32);
}

class CentralStorage : public DividedSync {
 public:
  explicit CentralStorage(const GradientSyncInputs& inputs)
      : DividedSync(inputs),
        wire_gradients_(communicator(), replica().gradients()),
        wire_parameters_(communicator(), replica().parameters()),
        // One chunk, that of rank 0.
        group_(communicator(), all_ranks(communicator()), communicator().rank(), 1,
               wire_gradients_.span()) {
    require_full_width("central_storage", inputs.options);
    if (communicator().rank() > 0) return;
    gradients_ = on_host(wire_gradients_.span());
    parameters_ = on_host(wire_parameters_.span());
    fetch_parameters();
    divide({{0, replica().parameters().count}}, parameters_, gradients_);
  }

  void restore_optimizer(const NamedTensors& state) override {
    DividedSync::restore_optimizer(state);
    if (optimizer() != nullptr) fetch_parameters();
  }

  void synchronise() override {
    replica().finish_step();
    wire_gradients_.load();
    trace().posted(Exchange::collective);
    group_.reduce_scatter(wire_gradients_.span(), ReduceOp::sum);
    communicator().scale(group_.own(wire_gradients_.span()), 1.0 / communicator().size());
    communicator().wait();
    trace().ended();
  }

  bool update(double learning_rate, double gradient_scale) override {
    double updated = 1;
    if (optimizer() != nullptr) updated = update_here(learning_rate, gradient_scale) ? 1 : 0;
    trace().enter(Phase::sync);
    trace().posted(Exchange::collective);
    if (gradient_scale != 1) ranks().broadcast(span_of(std::span(&updated, 1)), 0);
    if (updated != 0) group_.all_gather(wire_parameters_.span());
    communicator().wait();
    trace().ended();
    if (updated != 0) wire_parameters_.store();
    return updated != 0;
  }

 private:
  bool on_device() const { return wire_gradients_.span().memory == Memory::device; }

  /// The network's values become the variables.
  void fetch_parameters() {
    wire_parameters_.load();
    if (on_device()) copy(wire_parameters_.span(), span_of_tensor(parameters_));
  }

  bool update_here(double learning_rate, double gradient_scale) {
    if (on_device()) copy(wire_gradients_.span(), span_of_tensor(gradients_));
    if (!unscale(gradients_, gradient_scale)) return false;
    optimizer()->step(learning_rate);
    if (on_device()) copy(span_of_tensor(parameters_), wire_parameters_.span());
    return true;
  }

  WireBuffer wire_gradients_;
  WireBuffer wire_parameters_;
  ScatterGather group_;
  torch::Tensor parameters_;  // the variables, on rank 0
  torch::Tensor gradients_;
};

}  // namespace

std::unique_ptr<GradientSync> central_storage(const GradientSyncInputs& inputs) {
  return std::make_unique<CentralStorage>(inputs);
}

}  // namespace scalebench::gradient_sync
