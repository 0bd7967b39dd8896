// SPDX-License-Identifier: Apache-2.0
// One rank with all that `mirrored` does except sending: the baseline of "what does adding ranks
// cost", as TensorFlow's OneDeviceStrategy. Its difference to `none` is the price of the plumbing.
#include "kernels/error.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench::gradient_sync {
namespace {

class OneDevice : public ReplicaSync {
 public:
  using ReplicaSync::ReplicaSync;
  void synchronise() override { replica().finish_step(); }
};

}  // namespace

std::unique_ptr<GradientSync> one_device(const GradientSyncInputs& inputs) {
  if (const int ranks = inputs.communicator.size(); ranks != 1) {
    fail<UsageError>("gradient sync one_device trains on one rank, not on {}; use mirrored", ranks);
  }
  return std::make_unique<OneDevice>(inputs);
}

}  // namespace scalebench::gradient_sync
