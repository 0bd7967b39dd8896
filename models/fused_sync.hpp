// SPDX-License-Identifier: Apache-2.0
// What mirrored and multi_worker share: after the backward pass all gradients become their mean in
// one allreduce of the flat buffer. They differ in who chooses the algorithm.
#pragma once

#include <torch/types.h>

#include "models/gradient_reducer.hpp"
#include "models/replica_sync.hpp"

namespace scalebench {

class FusedSync : public ReplicaSync {
 public:
  /// Collective. `name` is the strategy's, for the option by which it names its allreduce. Throws
  /// UsageError where that does not fit the transport.
  FusedSync(const GradientSyncInputs& inputs, std::string_view name);

  void synchronise() override;

 private:
  GradientReducer reducer_;
};

}  // namespace scalebench
