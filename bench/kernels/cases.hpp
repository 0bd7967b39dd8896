// SPDX-License-Identifier: Apache-2.0
// What bench_kernels measures: kernel x dtype x size x memory, each with the work of one call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/buffer.hpp"

namespace scalebench {

struct KernelCase {
  std::string_view kernel;
  Memory memory = Memory::host;
  DType dtype = DType::float32;
  std::size_t count = 0;  // elements of the result; 0: a case about time, without data
  std::size_t bytes = 0;  // moved by one call: everything read and everything written, once
  std::size_t flops = 0;  // of one call

  /// "add/float/256 KiB/host", unique among the cases.
  std::string name() const;
  /// Of the result: "256 KiB"; "512 x 512" for a matrix product, empty for the clock.
  std::string size() const;
  /// Calls between two looks at the clock, so that looking costs less than a percent.
  std::size_t calls() const;
};

/// Every case in one memory, kernel by kernel. `clock` and `event_log` are among the host's.
std::vector<KernelCase> kernel_cases(Memory memory);

}  // namespace scalebench
