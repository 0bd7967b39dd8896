// SPDX-License-Identifier: Apache-2.0
// One case of bench_allreduce: what is run, on which transport, and how it is measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/measure/repetition.hpp"
#include "collectives/allreduce.hpp"

namespace scalebench {

struct AllreduceCase {
  const AllreduceAlgorithm* algorithm = nullptr;
  std::size_t transport = 0;  // position among the transports of the launch
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  bool pipelined = false;
  std::size_t count = 0;  // elements of one rank's buffer

  std::size_t bytes() const { return count * size_of(dtype); }
  std::string_view placement() const { return in_place ? "in_place" : "out_of_place"; }
  std::string_view mode() const { return pipelined ? "pipelined" : "isolated"; }
};

/// What the caches hold of the buffers when an operation begins.
enum class Cache : std::uint8_t {
  warm,     // what the operation before left there: one buffer is used again and again
  cold,     // nothing: buffers are walked through that are larger than the last cache
  written,  // what each rank has just written: all of its own input, as after a backward pass
};
inline constexpr std::array<std::string_view, 3> kCaches{"warm", "cold", "written"};
inline std::string_view name_of(Cache cache) { return kCaches[static_cast<std::size_t>(cache)]; }

/// How every case is measured.
struct AllreduceMethod {
  std::size_t repetitions = 0;  // 0: interval-driven
  std::size_t pipeline = 20;    // operations of one repetition of a pipelined case,
  std::size_t batches = 0;      // and its repetitions; 0: interval-driven
  WarmUpRule warm_up;
  double stop_seconds = 5;
  bool check = true;
  Cache cache = Cache::warm;
  bool graph = false;  // replay a CUDA graph of the operation
  StartMode start = StartMode::clock;
};

/// Parameters that name the case, without the number of ranks.
std::string canonical(const AllreduceCase& one, std::string_view transport, Memory memory,
                      const AllreduceMethod& method);

/// `host` or `device`.
std::string_view name_of(Memory memory);

}  // namespace scalebench
