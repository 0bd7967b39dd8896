// SPDX-License-Identifier: Apache-2.0
// What a command line of bench_allreduce asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/allreduce_case.hpp"
#include "bench/allreduce_fault.hpp"
#include "bench/allreduce_transport.hpp"
#include "bench/cli/console.hpp"
#include "bench/recorder.hpp"

namespace scalebench {

struct AllreduceOptions {
  std::size_t min_bytes = std::size_t{1} << 10U;
  std::size_t max_bytes = std::size_t{64} << 20U;
  std::size_t step_factor = 4;
  std::size_t step_bytes = 0;  // 0: multiply by step_factor
  std::vector<const AllreduceAlgorithm*> algorithms;
  std::vector<std::string> transports;  // names, or `auto` or `all` alone
  MemoryChoice memory = MemoryChoice::automatic;
  DeviceOptions devices;
  std::vector<DType> dtypes;
  std::vector<ReduceOp> ops;
  std::vector<bool> in_place;   // placements; out of place first, as in nccl-tests
  std::vector<bool> pipelined;  // modes
  AllreduceMethod method;
  std::optional<double> max_seconds;  // of a case's repetitions; empty: from the plan
  bool shuffle = false;
  std::uint64_t seed = 1;

  std::string choices;  // allreduce.csv of an earlier run, for `auto`; empty: tune in this launch
  bool bound = true;    // measure what memory alone would allow
  bool links = true;    // measure the links between hosts
  AllreduceFault fault;
  double timeout_seconds = 0;  // of the watchdog; 0: its own, more for large buffers

  std::string format = "table";
  bool per_rank = false;
  bool quiet = false;
  Color color = Color::automatic;
  bool dry_run = false;
  RecordOptions record;
  std::vector<std::string> command;  // argv as typed

  /// Whether the format has no column that tells two transports apart.
  bool one_transport() const { return format == "nccl" || format == "osu"; }

  std::string text;  // help or a list was asked for: print this and stop
};

/// Throws UsageError in one line for anything that is not valid.
AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int ranks);

}  // namespace scalebench
