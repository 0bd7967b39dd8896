// SPDX-License-Identifier: Apache-2.0
// The command line of bench_allreduce as typed: nccl-tests' letters where they exist, long names
// elsewhere. Defaults are those of the format that was asked for: who asks for nccl-tests' columns
// gets what nccl-tests would have run.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "bench/allreduce_options.hpp"
#include "bench/cli/app.hpp"

namespace scalebench {

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
