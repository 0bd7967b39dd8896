// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of a forward pass, counted while the network runs: what LibTorch is
// asked for tells its shapes, whatever the network is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network.hpp"

namespace scalebench {

/// Of one image: a multiplication and an addition for each use of a weight in convolutions and
/// matrix products, which is what the field counts; element-wise work is left out. `image`:
/// channels, height, width. The network is run once in evaluation mode, where its parameters are,
/// and left in training mode.
double forward_flops(Network& network, const std::vector<std::int64_t>& image);

}  // namespace scalebench
