// SPDX-License-Identifier: Apache-2.0
// Among how many ranks the images of a step are divided, by gradient sync.
#pragma once

#include <string_view>

#include "models/gradient_sync_options.hpp"

namespace scalebench {

/// Known before anything is built, since it decides the batch of each worker. Throws UsageError
/// where the strategy cannot work with so many ranks, or at all.
int worker_count(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks);

}  // namespace scalebench
