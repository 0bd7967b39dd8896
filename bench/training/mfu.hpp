// SPDX-License-Identifier: Apache-2.0
// What makers publish as the peak of their cards, to hold a training step against (MFU).
#pragma once

#include <optional>
#include <string_view>

#include "models/torch/device.hpp"

namespace scalebench {

/// FLOP/s of dense products of one device in that precision, at boost clock; nothing for a device
/// or a precision that is not in the table. `device`: the name that CUDA gives.
std::optional<double> published_flops(std::string_view device, Precision precision);

}  // namespace scalebench
