// SPDX-License-Identifier: Apache-2.0
// Small collectives for the benchmark's own coordination, over any host transport. They are made of
// exchange() alone, so that threads and MPI share them, and are never inside a timed region.
// Every function is collective and takes the same sizes on every rank unless it says otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Every rank's value, by rank.
std::vector<double> all_gather(Communicator& host, double value);
/// Every rank's text, by rank; lengths may differ.
std::vector<std::string> all_gather(Communicator& host, const std::string& text);
/// Every rank's values, one after the other by rank: result[rank * values.size() + i].
std::vector<double> all_gather(Communicator& host, std::span<const double> values);

/// Rank `root`'s data replaces everybody's. Host spans of equal count.
void broadcast(Communicator& host, Span data, int root);
void broadcast_bytes(Communicator& host, std::span<std::byte> bytes, int root);

/// True on every rank if it is true on all / on any of them.
bool all_agree(Communicator& host, bool mine);
bool any_agrees(Communicator& host, bool mine);

}  // namespace scalebench
