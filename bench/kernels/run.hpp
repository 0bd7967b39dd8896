// SPDX-License-Identifier: Apache-2.0
// A case that is ready to be called: its buffers, the call, and what the result must be. Inputs are
// small integers, so that every result is known exactly and is checked before anything is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bench/kernels/cases.hpp"
#include "kernels/buffer.hpp"
#include "kernels/device.hpp"

namespace scalebench {

/// A case with its buffers.
class KernelRun {
 public:
  /// Allocates and fills. Throws what Buffer throws.
  explicit KernelRun(const KernelCase& one);

  /// One call; enqueued where the memory is a device's.
  void operator()(DeviceStream stream) const { call_(stream); }
  /// Elements of the result that are not what exactly one call makes of the inputs.
  std::size_t count_wrong() const;

 private:
  friend struct KernelSetup;
  /// A new buffer whose element i is function(i).
  Span filled(std::size_t count, DType dtype, const std::function<int(std::size_t)>& function);

  Memory memory_;
  std::vector<Buffer> buffers_;
  std::function<void(DeviceStream)> call_;
  std::function<int(std::size_t)> expected_;
  Span result_;
};

}  // namespace scalebench
