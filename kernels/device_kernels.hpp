// SPDX-License-Identifier: Apache-2.0
// The device twins of the kernels. Call the ones in namespace scalebench instead: they check.
// Spans are on the device and fit each other; work is enqueued on `stream`. In a build without
// CUDA every one throws Unavailable (no_device.cpp).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/device.hpp"
#include "kernels/gemm.hpp"
#include "kernels/reduce_op.hpp"
#include "kernels/span.hpp"

namespace scalebench::device {

void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op,
             DeviceStream stream);
void scale(Span values, double factor, DeviceStream stream);
void cast(ConstSpan from, Span to, DeviceStream stream);
void pack(std::span<const ConstSpan> parts, Span flat, DeviceStream stream);
void unpack(ConstSpan flat, std::span<const Span> parts, DeviceStream stream);
void stream_copy(ConstSpan from, Span to, DeviceStream stream);
void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream);
void gemm(ConstSpan a, ConstSpan b, Span c, std::size_t m, std::size_t n, std::size_t k,
          DeviceStream stream, GemmMath math);

}  // namespace scalebench::device
