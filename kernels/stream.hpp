// SPDX-License-Identifier: Apache-2.0
// Two of McCalpin's STREAM kernels: what the memory can do, to hold every other number against.
// The host copy is the C library's memcpy, which goes around the cache when the size is large.
// https://www.cs.virginia.edu/stream/ref.html
#pragma once

#include "kernels/device.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// to[i] = from[i]: 2 * bytes moved. Equal counts, dtypes and memories, else Error. Asynchronous
/// on a device.
void stream_copy(ConstSpan from, Span to, DeviceStream stream = {});

/// a[i] = b[i] + factor * c[i]: 3 * bytes moved, 2 operations an element, never fused into one
/// rounding. float and half types take float(factor); int32 computes in double and rounds. Equal
/// counts, dtypes and memories, else Error. Asynchronous on a device.
void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream = {});

}  // namespace scalebench
