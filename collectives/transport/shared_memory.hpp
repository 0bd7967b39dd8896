// SPDX-License-Identifier: Apache-2.0
// Host memory that all ranks of a host address directly: windows are mapped into every process, so
// that peer() works and long messages are copied once. Ranks of other hosts are reached through the
// control transport.
#pragma once

#include <memory>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Collective. `control` must outlive the result; it introduces the ranks to each other, and
/// carries what goes to other hosts. Throws Unavailable, on every rank, when ranks of one host
/// cannot map each other's memory.
std::unique_ptr<Communicator> make_shared_memory_communicator(Communicator& control);

}  // namespace scalebench
