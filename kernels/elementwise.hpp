// SPDX-License-Identifier: Apache-2.0
// What is computed element by element: the reduction in every allreduce, change of number type,
// many tensors as one, multiplication, and the loops of STREAM.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {

// The reduction in every allreduce: several arrays become one, which is written to several places.
// With two sources and one destination it is the step of a ring; with every rank's buffer as source
// and destination it moves each byte once, for transports whose ranks can address each other.

enum class Stores : std::uint8_t {
  cached,
  streaming,  // past the caches: for results that will not be read soon. Host memory only
};

/// to[j][i] = from[0][i] op from[1][i] op ..., for every destination j. One source is a copy.
/// Half types are combined in float and rounded once, to nearest even; int32 wraps. A destination
/// may be one of the sources, but must not overlap another in part, which is not checked: it would
/// cost more than a short call. All counts, dtypes and memories equal, 1 <= sources <= 1024, as
/// many destinations at most, op != avg (which is a sum and a scale), else Error. On a device the
/// work is enqueued on `stream`; on the host it is done on return, and streaming stores are visible
/// to other processors before any later store.
void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op,
             Stores stores = Stores::cached, DeviceStream stream = {});

/// Two numbers, on the host or on a device. Integers are combined as unsigned, where sums and
/// products wrap; min and max look at the sign.
template <ReduceOp op, class T>
constexpr T combined(T a, T b) {
  if constexpr (op == ReduceOp::min) return b < a ? b : a;
  if constexpr (op == ReduceOp::max) return a < b ? b : a;
  if constexpr (std::is_same_v<T, std::int32_t>) {
    const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
    return static_cast<T>(op == ReduceOp::prod ? x * y : x + y);
  } else {
    return op == ReduceOp::prod ? a * b : a + b;
  }
}

// Change of number type, for gradients that travel narrower than they are kept.

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
