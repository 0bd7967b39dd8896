// SPDX-License-Identifier: Apache-2.0
// The sum in every allreduce.
#pragma once

#include "kernels/device.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// into[i] += from[i]. Half types are added in float and rounded to nearest even; int32 wraps.
/// Equal counts, dtypes and memories, no partial overlap, else Error. On a device the work is
/// enqueued on `stream`; on the host it is done on return, by the calling thread alone.
void add(Span into, ConstSpan from, DeviceStream stream = {});

}  // namespace scalebench
