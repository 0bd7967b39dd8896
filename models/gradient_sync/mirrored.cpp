// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism without overlap: after the backward pass one allreduce of all
// gradients to their mean. As TensorFlow's MirroredStrategy with fused gradients. Cost: the whole
// allreduce of 4 bytes a parameter is exposed; wins where a model is small or the step is short.
// Gradients on a GPU travel through host memory if the transport only reaches that.
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/gradient_bucket.hpp"
#include "models/gradient_sync.hpp"

namespace scalebench {
namespace {

class Mirrored : public GradientSync {
 public:
  explicit Mirrored(const GradientSyncInputs& inputs)
      : bucket_(inputs.parameters, inputs.communicator),
        communicator_(inputs.communicator),
        allreduce_(inputs.allreduce) {
    const Span gradients = bucket_.gradients();
    if (gradients.memory != communicator_.memory()) {
      staging_ = Buffer(gradients.count, gradients.dtype, communicator_.memory());
    }
  }

  void begin_step() override { bucket_.zero(); }

  void synchronise() override {
    const Span gradients = bucket_.gradients();
    if (staging_.bytes() > 0) {
      copy(gradients, staging_.span());
      average(staging_.span());
      copy(staging_.span(), gradients);
    } else {
      // The communicator has a stream of its own, which knows nothing of LibTorch's.
      if (gradients.memory == Memory::device) device_synchronize();
      average(gradients);
    }
  }

 private:
  void average(Span data) {
    allreduce_->run(communicator_, data, data, ReduceOp::avg);
    communicator_.wait();
  }

  GradientBucket bucket_;
  Communicator& communicator_;
  const AllreduceAlgorithm* allreduce_;
  Buffer staging_;
};

}  // namespace

std::unique_ptr<GradientSync> gradient_sync::mirrored(const GradientSyncInputs& inputs) {
  if (inputs.allreduce == nullptr) fail<UsageError>("gradient sync mirrored needs an allreduce");
  return std::make_unique<Mirrored>(inputs);
}

}  // namespace scalebench
