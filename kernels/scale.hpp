// SPDX-License-Identifier: Apache-2.0
// Multiplication by one number: turns a sum of gradients into their mean.
#pragma once

#include "kernels/device.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// values[i] *= factor. float and half types multiply by float(factor); int32 multiplies in double,
/// rounds to nearest, ties to even, and saturates. Asynchronous on a device.
void scale(Span values, double factor, DeviceStream stream = {});

}  // namespace scalebench
