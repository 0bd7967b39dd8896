// SPDX-License-Identifier: Apache-2.0
// An optimizer whose steps last as long as was recorded: it updates, and waits for the rest.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/optimizer.hpp"
#include "models/pace.hpp"

namespace scalebench {

/// make_optimizer(), paced by the number of elements that it updates, which is a share of the
/// network's where ranks divide the update; unpaced without a pace, which must outlive it.
std::unique_ptr<Optimizer> make_paced_optimizer(std::string_view name,
                                                const std::vector<at::Tensor>& parameters,
                                                const UpdatePace& pace);

}  // namespace scalebench
