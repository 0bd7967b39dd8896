// SPDX-License-Identifier: Apache-2.0
// `scalebench certify`: the same binary against itself. Says how often equal things look different
// here, and which difference a comparison on this machine could see.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/exit_code.hpp"
#include "bench/study_setup.hpp"

namespace scalebench {

struct CertifyOptions : StartOptions {
  int launches = 10;  // of each side
  int ranks = 0;      // 0: one for each core or device
  std::string min_bytes = "1K";
  std::string max_bytes = "16M";
  std::int64_t factor = 16;
  std::string algorithms = "ring,native,direct";
  std::string transport = "auto";
  std::string dtypes = "float";
  double max_seconds = 0.25;  // cap on the repetitions of a case
  std::uint64_t seed = 1;
  std::vector<std::string> more;  // for bench_allreduce, as typed after --
};

/// The subcommand's options.
CLI::App& describe_certify(CLI::App& app, CertifyOptions& options);

/// ok: certified; regression: more cells differ than may; incomplete: too few launches, failed
/// ones, or wrong results; nothing_measured.
ExitCode certify(const CertifyOptions& options);

}  // namespace scalebench
