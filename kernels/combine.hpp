// SPDX-License-Identifier: Apache-2.0
// The reduction in every allreduce: several arrays become one, which is written to several places.
// With two sources and one destination it is the step of a ring; with every rank's buffer as source
// and destination it moves each byte once, for transports whose ranks can address each other.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {

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

}  // namespace scalebench
