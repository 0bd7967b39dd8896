// SPDX-License-Identifier: Apache-2.0
// The device twins of the kernels. Call the ones in namespace scalebench instead: they check.
// Spans are on the device and fit each other; work is enqueued on `stream`. In a build without
// CUDA every one throws Unavailable (no_device.cpp).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"
#include "kernels/gemm.hpp"
#include "kernels/update.hpp"

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

// The update rules of update.hpp on a device: all parameters of a model in one launch, or a few,
// and every number that changes from step to step read there, so that a recorded step can be
// replayed. Throws Unavailable in a build without CUDA.

namespace scalebench {

/// One tensor; device memory, `count` floats each. `state`: velocities (sgd), or means and squares
/// (adam).
struct UpdatePart {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* state[2] = {};  // no std::array, whose operators are the host's
  std::size_t count = 0;
};

/// What adam remembers of its steps, in device memory; all zero before the first.
struct AdamProgress {
  double steps = 0;
  float step_size = 0;
  float bias2_root = 0;
};

/// As sgd_update of each part, bit for bit. `rate`: one double in device memory. Asynchronous.
void sgd_update(std::span<const UpdatePart> parts, float momentum, const double* rate,
                DeviceStream stream);

/// As adam_update of each part, of the step after `progress`, which it counts on. Of `decay` only
/// the betas and epsilon are looked at. Asynchronous.
void adam_update(std::span<const UpdatePart> parts, const AdamStep& decay, const double* rate,
                 AdamProgress* progress, DeviceStream stream);

}  // namespace scalebench
