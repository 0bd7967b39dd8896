// SPDX-License-Identifier: Apache-2.0
// What the cards of all ranks did, known to every rank.
#pragma once

#include <vector>

#include "bench/device_spell.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// Collective: each rank's spells, by rank; their numbers may differ.
std::vector<std::vector<DeviceSpell>> all_spells(Communicator& host,
                                                 const std::vector<DeviceSpell>& mine);

/// Collective: the worst of all ranks in each span, which are the same spans on all; a rank that
/// watches nothing brings none. Empty where no rank watches.
std::vector<DeviceSpell> worst_spells(Communicator& host, const std::vector<DeviceSpell>& mine);

}  // namespace scalebench
