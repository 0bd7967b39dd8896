// SPDX-License-Identifier: Apache-2.0
// What every program of ranks does around its work: MPI's life, the promise of the launcher, one
// catch that says `rank host: what`, and the exit codes.
#pragma once

#include <functional>
#include <string>

#include "bench/exit_code.hpp"
#include "bench/watchdog.hpp"
#include "collectives/communicator.hpp"
#include "collectives/mpi_session.hpp"

namespace scalebench {

/// The ranks that a program runs on: `host` carries its own coordination.
struct Ranks {
  const MpiSession& session;
  Communicator& host;
  bool first() const { return session.rank() == 0; }
};

/// A watchdog that ends all ranks as incomplete. `timeout_seconds` 0: its own limit.
WatchdogOptions watchdog_options(const Ranks& ranks, double timeout_seconds);

/// Runs a program on every rank: `parse` first, whose text (help, a list) rank 0 prints instead of
/// running `body` and whose UsageError rank 0 reports; then `body`, any failure of which is
/// reported by the rank that has it and ends all ranks. Returns the exit code.
int run_program(int argc, char** argv, const std::function<std::string(int ranks)>& parse,
                const std::function<ExitCode(const Ranks&)>& body);

/// The same for options that hold their own `text`.
template <class Options>
int run_program(int argc, char** argv, Options (*parse)(int, const char* const*, int ranks),
                ExitCode (*body)(const Ranks&, const Options&)) {
  Options options;
  return run_program(
      argc, argv,
      [&](int ranks) {
        options = parse(argc, argv, ranks);
        return options.text;
      },
      [&](const Ranks& ranks) { return body(ranks, options); });
}

}  // namespace scalebench
