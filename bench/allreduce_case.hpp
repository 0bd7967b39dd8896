// SPDX-License-Identifier: Apache-2.0
// One case of bench_allreduce: algorithm, dtype and size on a given transport, checked, then timed.
#pragma once

#include <cstddef>
#include <string>

#include "bench/measure/repetition.hpp"
#include "collectives/allreduce.hpp"

namespace scalebench {

struct AllreduceCase {
  const AllreduceAlgorithm* algorithm = nullptr;
  DType dtype = DType::float32;
  std::size_t count = 0;  // elements of one rank's buffer

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// How every case is measured.
struct AllreduceMethod {
  std::size_t repetitions = 0;  // 0: interval-driven
  WarmUpRule warm_up;
  double stop_seconds = 5;
  bool check = true;
  bool cold = false;
  StartMode start = StartMode::clock;
};

struct AllreduceResult {
  std::string status = "ok";  // ok, skipped, wrong
  std::string note;
  std::size_t wrong = 0;  // elements, over all ranks, before and after timing
  Timing timing;          // empty unless ok
};

/// Collective over `data` (which the algorithm uses) and `host` (which coordinates); both have the
/// same ranks. All ranks return the same result.
AllreduceResult measure_allreduce(Communicator& data, Communicator& host, const AllreduceCase& one,
                                  const AllreduceMethod& method);

/// Throws UsageError with the bytes needed and free when the largest case does not fit into this
/// host's memory beside those of the other ranks on it. Host memory only.
void require_memory(std::size_t largest_bytes, int ranks_on_host, bool cold);

}  // namespace scalebench
