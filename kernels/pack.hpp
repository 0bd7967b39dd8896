// SPDX-License-Identifier: Apache-2.0
// Many tensors into one flat buffer and back: one large message instead of many small ones.
#pragma once

#include <span>

#include "kernels/device.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// flat = parts[0] parts[1] ... one behind the other. The counts add up to flat.count; all have the
/// dtype and memory of `flat` and share no byte with it, else Error. Asynchronous on a device.
void pack(std::span<const ConstSpan> parts, Span flat, DeviceStream stream = {});

/// The way back, under the same rules.
void unpack(ConstSpan flat, std::span<const Span> parts, DeviceStream stream = {});

}  // namespace scalebench
