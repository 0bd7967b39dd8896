// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism over several hosts, as TensorFlow's MultiWorkerMirroredStrategy: one
// allreduce of all gradients after the backward pass, by a ring, NCCL, or whatever was measured to
// be fastest at that size (auto). Cost: as mirrored's; wins where sizes and networks differ so that
// no one algorithm is right. Source: tf.distribute.experimental.CommunicationImplementation.
#include <fmt/ranges.h>

#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/reducer.hpp"

namespace scalebench::gradient_sync {
namespace {

class MultiWorker : public FusedSync {
 public:
  explicit MultiWorker(const GradientSyncInputs& inputs)
      : FusedSync(inputs), bytes_(replica().gradients().count * size_of(inputs.options.wire)) {
    if (!inputs.allreduce->chooses()) return;
    choices_ = communicator().choices();
    if (choices_ == nullptr) fail<UsageError>("allreduce auto needs a measured table to choose by");
  }

  std::string remarks() const override {
    if (choices_ == nullptr) return {};
    return fmt::format("auto chose {} for {} bytes ({})", choices_->pick(bytes_).name, bytes_,
                       fmt::join(choices_->describe(), ", "));
  }

 private:
  std::size_t bytes_;  // of the one message
  const AllreduceChoices* choices_ = nullptr;
};

}  // namespace

std::unique_ptr<GradientSync> multi_worker(const GradientSyncInputs& inputs) {
  return std::make_unique<MultiWorker>(inputs);
}

}  // namespace scalebench::gradient_sync
