// SPDX-License-Identifier: Apache-2.0
// What must be the same for a training to go on from a checkpoint with the same bits: names and
// values, for a comparison that says what differs. How often and where it runs is no part of it,
// and neither are the number of CPU threads and the transport, which a user may have to change.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/trainer_options.hpp"

namespace scalebench {

using Description = std::vector<std::pair<std::string, std::string>>;

/// `options`: resolved; `dataset`: its name as loaded.
Description description_of(const TrainerOptions& options, int ranks, int workers,
                           std::string_view dataset);

}  // namespace scalebench
