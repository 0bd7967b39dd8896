// SPDX-License-Identifier: Apache-2.0
// One rank with all that `mirrored` does except sending: the baseline of "what does adding ranks
// cost", as TensorFlow's OneDeviceStrategy. Its difference to `none` is the price of the plumbing.
#include "kernels/error.hpp"
#include "kernels/scale.hpp"
#include "models/gradient_bucket.hpp"
#include "models/gradient_sync.hpp"

namespace scalebench {
namespace {

class OneDevice : public GradientSync {
 public:
  explicit OneDevice(const GradientSyncInputs& inputs)
      : bucket_(inputs.parameters, inputs.communicator) {}

  void begin_step() override { bucket_.zero(); }
  void synchronise() override { scale(bucket_.gradients(), 1.0); }

 private:
  GradientBucket bucket_;
};

}  // namespace

std::unique_ptr<GradientSync> gradient_sync::one_device(const GradientSyncInputs& inputs) {
  if (const int ranks = inputs.communicator.size(); ranks != 1) {
    fail<UsageError>("gradient sync one_device trains on one rank, not on {}; use mirrored", ranks);
  }
  return std::make_unique<OneDevice>(inputs);
}

}  // namespace scalebench
