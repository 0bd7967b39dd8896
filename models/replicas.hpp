// SPDX-License-Identifier: Apache-2.0
// Every rank holds a copy of the network: are the copies equal, and how to equalise what training
// does not (the running statistics of batch normalisation).
#pragma once

#include <cstdint>

#include "collectives/communicator.hpp"
#include "models/network.hpp"

namespace scalebench {

/// 64-bit hash over the bits of all parameters and buffers, in their order.
std::uint64_t hash_of(const Network& network);

/// Collective over a host communicator: true on every rank if all hashes are equal.
bool replicas_equal(const Network& network, Communicator& host);

/// Collective over a host communicator: how far apart the parameters of the workers are, as the
/// largest of ||p - mean|| / ||mean|| (L2 norms over all parameters), the same on every rank.
double replica_divergence(const Network& network, Communicator& host, bool worker);

/// Collective over a host communicator: rank 0's floating-point buffers replace everybody's, as in
/// PyTorch's DistributedDataParallel. Returns at once for a network without such buffers.
void broadcast_buffers(Network& network, Communicator& host);

}  // namespace scalebench
