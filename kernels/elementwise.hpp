// SPDX-License-Identifier: Apache-2.0
// Change of number type, for gradients that travel narrower than they are kept.
#pragma once

#include <span>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"

namespace scalebench {

/// to[i] = from[i] in the type of `to`, any of the five from any of the five. Every conversion
/// rounds once, to nearest, ties to even; what is too large becomes infinity, in int32 the limit;
/// NaN stays NaN, in int32 it becomes 0. Equal counts and memories, no overlap (except from == to
/// in the same dtype), else Error. Asynchronous on a device.
void cast(ConstSpan from, Span to, DeviceStream stream = {});

// Many tensors into one flat buffer and back: one large message instead of many small ones.

/// flat = parts[0] parts[1] ... one behind the other. The counts add up to flat.count; all have the
/// dtype and memory of `flat` and share no byte with it, else Error. Asynchronous on a device.
void pack(std::span<const ConstSpan> parts, Span flat, DeviceStream stream = {});

/// The way back, under the same rules.
void unpack(ConstSpan flat, std::span<const Span> parts, DeviceStream stream = {});

// Multiplication by one number: turns a sum of gradients into their mean.

/// values[i] *= factor. float and half types multiply by float(factor); int32 multiplies in double,
/// rounds to nearest, ties to even, and saturates. Asynchronous on a device.
void scale(Span values, double factor, DeviceStream stream = {});

// Two of McCalpin's STREAM kernels: what the memory can do, to hold every other number against.
// The host copy is the C library's memcpy, which goes around the cache when the size is large.
// https://www.cs.virginia.edu/stream/ref.html

/// to[i] = from[i]: 2 * bytes moved. Equal counts, dtypes and memories, else Error. Asynchronous
/// on a device.
void stream_copy(ConstSpan from, Span to, DeviceStream stream = {});

/// a[i] = b[i] + factor * c[i]: 3 * bytes moved, 2 operations an element, never fused into one
/// rounding. float and half types take float(factor); int32 computes in double and rounds. Equal
/// counts, dtypes and memories, else Error. Asynchronous on a device.
void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream = {});

}  // namespace scalebench
