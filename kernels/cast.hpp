// SPDX-License-Identifier: Apache-2.0
// Change of number type, for gradients that travel narrower than they are kept.
#pragma once

#include "kernels/device.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// to[i] = from[i] in the type of `to`, any of the five from any of the five. Every conversion
/// rounds once, to nearest, ties to even; what is too large becomes infinity, in int32 the limit;
/// NaN stays NaN, in int32 it becomes 0. Equal counts and memories, no overlap (except from == to
/// in the same dtype), else Error. Asynchronous on a device.
void cast(ConstSpan from, Span to, DeviceStream stream = {});

}  // namespace scalebench
