// SPDX-License-Identifier: Apache-2.0
// The plain loop, in which the ranks wait for each other once a step and exchange nothing: what
// waiting costs by itself. Cost: a barrier.
#include <torch/types.h>

#include "kernels/device.hpp"
#include "models/gradients/gradient_sync.hpp"

namespace scalebench::gradient_sync {
namespace {

class BarrierOnly : public GradientSync {
 public:
  explicit BarrierOnly(const GradientSyncInputs& inputs)
      : plain_(gradient_sync_named("none").make(inputs)),
        communicator_(inputs.communicator),
        trace_(inputs.trace),
        on_device_(!inputs.parameters.empty() && inputs.parameters.front().is_cuda()) {}

  Workers workers() const override { return plain_->workers(); }
  void begin_step() override { plain_->begin_step(); }

  void synchronise() override {
    // The others wait for the gradients, not for their kernels to be enqueued.
    if (on_device_) device_synchronize();
    trace_.posted(Exchange::collective);
    communicator_.barrier();
    trace_.ended();
  }

  bool update(double learning_rate, double gradient_scale) override {
    return plain_->update(learning_rate, gradient_scale);
  }
  NamedTensors optimizer_state() override { return plain_->optimizer_state(); }
  void restore_optimizer(const NamedTensors& state) override { plain_->restore_optimizer(state); }

 private:
  const std::unique_ptr<GradientSync> plain_;
  Communicator& communicator_;
  StepTrace& trace_;
  const bool on_device_;
};

}  // namespace

std::unique_ptr<GradientSync> barrier_only(const GradientSyncInputs& inputs) {
  return std::make_unique<BarrierOnly>(inputs);
}

}  // namespace scalebench::gradient_sync
