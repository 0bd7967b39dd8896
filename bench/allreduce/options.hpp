// SPDX-License-Identifier: Apache-2.0
// What a command line of bench_allreduce asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/allreduce/case.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/program/fault.hpp"
#include "bench/program/recorder.hpp"
#include "bench/program/transports.hpp"

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

// The command line of bench_allreduce as typed: nccl-tests' letters where they exist, long names
// elsewhere. Defaults are those of the format that was asked for: who asks for nccl-tests' columns
// gets what nccl-tests would have run.

inline constexpr std::array<std::string_view, 5> kFormats{"table", "nccl", "osu", "csv", "json"};
inline constexpr std::array<std::string_view, 3> kMemories{"auto", "host", "device"};
inline constexpr std::array<std::string_view, 3> kPlacements{"in_place", "out_of_place", "both"};
inline constexpr std::array<std::string_view, 3> kModes{"isolated", "pipelined", "both"};
inline constexpr std::array<std::string_view, 2> kOrders{"ascending", "shuffled"};

struct AllreduceWords {
  std::string min_bytes = "1K";
  std::string max_bytes = "64M";
  std::string step_bytes = "0";
  std::string algorithms = "all";
  std::string transports = "auto";
  std::string memory = "auto";
  std::string dtypes = "float";
  std::string ops = "sum";
  std::string placement = "in_place";
  std::string mode = "isolated";
  std::string cache = "warm";
  std::string order = "ascending";
  std::string fault;
  std::optional<double> max_seconds;
  long step_factor = 4;
  long repetitions = 0;
  int warm_up = -1;
  int check = 1;
  int graph = 0;
  int bound = 1;
  int links = 1;
  bool list = false;

  // nccl-tests' letters that mean little or nothing here; -2: not given.
  int threads = 1;
  int devices = 1;
  int aggregate = 1;
  int blocking = -2;
  int average = 3;
  int cpu_time = 0;
  int registered = 0;
  std::string root = "-1";
};

/// Binds the words and those options that need no checking.
void describe(CLI::App& app, AllreduceWords& words, AllreduceOptions& options);

/// Replaces what was not given by the defaults of `format`.
void apply_format_defaults(const CLI::App& app, const std::string& format, AllreduceWords& words);

/// Throws UsageError for letters of nccl-tests that ask for something that is not done here; sets
/// the mode that -z means.
void apply_nccl_letters(const CLI::App& app, AllreduceWords& words);

}  // namespace scalebench
