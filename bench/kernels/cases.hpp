// SPDX-License-Identifier: Apache-2.0
// What bench_kernels measures: kernel x dtype x size x memory, each with the work of one call; and
// one repetition of a case under Google Benchmark: check, then time batches of calls. On the host
// by the steady clock, on a device by events on the stream.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/card_watch.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

struct KernelCase {
  std::string_view kernel;
  Memory memory = Memory::host;
  DType dtype = DType::float32;
  std::size_t count = 0;  // elements of the result
  std::size_t bytes = 0;  // moved by one call: everything read and everything written, once
  std::size_t flops = 0;  // of one call

  /// "add/float/256 KiB/host", unique among the cases.
  std::string name() const;
  /// Of the result: "256 KiB"; "512 x 512" for a matrix product.
  std::string size() const;
  /// Calls between two looks at the clock, so that looking costs less than a percent.
  std::size_t calls() const;
};

/// Every case in one memory, kernel by kernel.
std::vector<KernelCase> kernel_cases(Memory memory);

/// One start of the body on a device: a trial run, or a repetition.
struct KernelLook {
  TimeSpan span;
  double enqueue_seconds = 0;  // what a call cost the host, mean
};

/// How a case ended: `ok`, or `skipped`, `wrong`, `failed` and why.
struct KernelStatus {
  std::string status = "ok";
  std::string note;
  std::vector<KernelLook> looks = {};  // of all starts, the repetitions last
};

/// Times one case after the other. A case is set up and checked once: its buffers are kept for its
/// other trials and repetitions, until another case comes.
class KernelTimer {
 public:
  KernelTimer();
  ~KernelTimer();

  /// The body of a benchmark with manual time. An iteration is one.calls() calls. Never throws:
  /// what went wrong is in `status` and ends the case.
  void time(benchmark::State& state, const KernelCase& one, KernelStatus& status);

 private:
  struct Ready;
  void check_and_time(benchmark::State& state, const KernelCase& one, KernelStatus& status);

  std::unique_ptr<Ready> ready_;
};

}  // namespace scalebench
