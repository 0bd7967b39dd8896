// SPDX-License-Identifier: Apache-2.0
#include "bench/program.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "collectives/mpi_communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

int code_of(ExitCode code) { return static_cast<int>(code); }

/// Other ranks may be inside a collective by now: end them all.
[[noreturn]] void end_all(const MpiSession& session, const char* what, ExitCode code) {
  fmt::print(stderr, "rank {} {}: {}\n", session.rank(), session.host(), what);
  std::fflush(stderr);
  session.abort(code_of(code));
}

}  // namespace

WatchdogOptions watchdog_options(const Ranks& ranks, double timeout_seconds) {
  WatchdogOptions watchdog;
  if (timeout_seconds > 0) watchdog.limit_seconds = timeout_seconds;
  watchdog.end = [&ranks] { ranks.session.abort(code_of(ExitCode::incomplete)); };
  return watchdog;
}

int run_program(int argc, char** argv, const std::function<std::string(int ranks)>& parse,
                const std::function<ExitCode(const Ranks&)>& body) {
  MpiSession session(argc, argv);
  try {
    // Every rank reads the same command line and comes to the same end: one of them says it.
    const std::string text = parse(session.size());
    if (!text.empty()) {
      if (session.rank() == 0) fmt::print("{}", text);
      return code_of(ExitCode::ok);
    }
  } catch (const UsageError& error) {
    if (session.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return code_of(ExitCode::usage);
  }
  try {
    require_promised_ranks(session);
    const auto host = make_mpi_communicator();
    return code_of(body({session, *host}));
  } catch (const UsageError& error) {
    // A bad data set is met by all ranks alike: rank 0's report ends the others before theirs.
    if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    end_all(session, error.what(), ExitCode::usage);
  } catch (const std::exception& error) {
    end_all(session, error.what(), ExitCode::internal);
  }
}

}  // namespace scalebench
