// SPDX-License-Identifier: Apache-2.0
// Options that programs of ranks have in common.
#pragma once

#include <CLI/CLI.hpp>

#include "bench/cli/help.hpp"
#include "bench/cli/words.hpp"
#include "bench/machine/environment.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// -V, which every program has.
inline void add_version_option(CLI::App& app) {
  app.set_version_flag("-V,--version", build_info().version, "the version of this program");
}

/// -T, which every program of ranks has: its watchdog's limit.
inline void add_timeout_option(CLI::App& app, double& seconds) {
  const auto take = [&seconds](const double& typed) {
    if (!(typed >= 0)) fail<UsageError>("-T: must not be negative");
    seconds = typed;
  };
  add_word<double>(app, "-T,--timeout", seconds, take,
                   "seconds without progress after which a rank that hangs is named and all end; "
                   "0: 25, more for what is expected to take long")
      ->group(kFaults);
}

}  // namespace scalebench
