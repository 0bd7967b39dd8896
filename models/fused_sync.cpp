// SPDX-License-Identifier: Apache-2.0
#include "models/fused_sync.hpp"

#include "models/named_allreduce.hpp"

namespace scalebench {
namespace {

/// Before the first collective call, so that all ranks refuse alike.
const GradientSyncInputs& checked(const GradientSyncInputs& inputs, std::string_view name) {
  require_transport(name, inputs.options, inputs.communicator.transport());
  return inputs;
}

GradientSyncInputs with_own_allreduce(GradientSyncInputs inputs, std::string_view name) {
  inputs.allreduce = allreduce_meant(name, inputs.options, inputs.allreduce);
  return inputs;
}

}  // namespace

FusedSync::FusedSync(const GradientSyncInputs& inputs, std::string_view name)
    : ReplicaSync(checked(inputs, name)),
      reducer_(with_own_allreduce(inputs, name), replica().gradients()) {}

void FusedSync::synchronise() {
  replica().finish_step();
  average_now(reducer_, replica().gradients(), trace());
}

}  // namespace scalebench
