// SPDX-License-Identifier: Apache-2.0
// The command line of bench_allreduce: nccl-tests' letters where they exist, long names elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/allreduce_case.hpp"
#include "bench/recorder.hpp"

namespace scalebench {

struct AllreduceOptions {
  std::size_t min_bytes = std::size_t{1} << 10U;
  std::size_t max_bytes = std::size_t{64} << 20U;
  std::size_t step_factor = 4;
  std::size_t step_bytes = 0;  // 0: multiply by step_factor
  std::vector<const AllreduceAlgorithm*> algorithms;
  std::vector<DType> dtypes;
  std::string transport = "auto";
  AllreduceMethod method;
  bool shuffle = false;
  std::uint64_t seed = 1;
  std::string format = "table";
  bool quiet = false;
  bool dry_run = false;
  RecordOptions record;
  std::vector<std::string> command;  // argv as typed

  std::string text;  // help or a list was asked for: print this and stop
};

/// Throws UsageError in one line for anything that is not valid.
AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int ranks);

/// All cases in the order in which they are measured: sizes ascending or shuffled by the seed, the
/// algorithms of one size and dtype always neighbours.
std::vector<AllreduceCase> plan_of(const AllreduceOptions& options);

}  // namespace scalebench
