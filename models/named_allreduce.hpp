// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's names for ways to reduce stand for here: the CrossDeviceOps of mirrored and the
// CommunicationImplementation of multi_worker.
#pragma once

#include <string_view>

#include "collectives/allreduce.hpp"
#include "models/gradient_sync_options.hpp"

namespace scalebench {

/// The algorithm that this gradient sync reduces with: that of its own option, or `given` where it
/// has none or the option is empty. Throws UsageError for an unknown word.
const AllreduceAlgorithm* allreduce_meant(std::string_view gradient_sync,
                                          const GradientSyncOptions& options,
                                          const AllreduceAlgorithm* given);

/// The word itself; empty when there is none.
std::string_view word_for_allreduce(std::string_view gradient_sync,
                                    const GradientSyncOptions& options);

/// Throws UsageError when that word is nccl and the gradients travel over another transport.
void require_transport(std::string_view gradient_sync, const GradientSyncOptions& options,
                       std::string_view transport);

}  // namespace scalebench
