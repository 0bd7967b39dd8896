// SPDX-License-Identifier: Apache-2.0
// All that decides the next step of a training, out of a network and its gradient sync into a
// checkpoint (models/checkpoint_file.hpp) and back: parameters, buffers, the optimizer's memory,
// and every rank's random numbers. Free of LibTorch.
#pragma once

#include "collectives/communicator.hpp"
#include "models/checkpoint_file.hpp"
#include "models/gradients/gradient_sync.hpp"

namespace scalebench {

class Network;

/// Collective over a host communicator, after GradientSync::publish(). In full on rank 0, without
/// tensors on the others; progress and description are the caller's to fill in.
Checkpoint captured(const Network& network, GradientSync& sync, Communicator& host);

/// The same checkpoint on every rank, each of which takes its own random numbers and what of the
/// optimizer is its own. The parameters come first: a strategy that keeps a copy finds them in the
/// network when its restore_optimizer() is called. Throws UsageError when a tensor is missing or
/// has another shape.
void take_over(const Checkpoint& checkpoint, Network& network, GradientSync& sync, int rank);

}  // namespace scalebench
