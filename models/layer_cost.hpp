// SPDX-License-Identifier: Apache-2.0
// What a layer costs, for cutting a network into stages that take equally long.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network.hpp"

namespace scalebench {

/// Of each layer, in numbers touched for one image: a multiplication for each use of a weight
/// (matrices and filters, once for each position of the result), a number written for each of the
/// result, and each parameter once for the update. `image`: channels, height, width. The network
/// is run once, in evaluation mode, and left in training mode.
std::vector<double> layer_costs(Network& network, const std::vector<Layer>& layers,
                                const std::vector<std::int64_t>& image);

}  // namespace scalebench
