// SPDX-License-Identifier: Apache-2.0
#include "bench/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string_view>
#include <thread>

#include "bench/joined_program.hpp"
#include "bench/joint_refusal.hpp"
#include "bench/last_words.hpp"
#include "bench/record/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/mpi_communicator.hpp"
#include "collectives/nccl_communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kWhere = "--where";

int code_of(ExitCode code) { return static_cast<int>(code); }

/// Other ranks may be inside a collective by now: end them all.
[[noreturn]] void end_all(const MpiSession& session, const char* what, ExitCode code) {
  say_last(fmt::format("rank {} {}: {}", session.rank(), session.host(), what));
  session.abort(code_of(code));
}

bool asks_where(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return word == kWhere; });
}

/// Every rank's identity, by rank.
ExitCode say_where(const Ranks& ranks) {
  const LinkedLibraries libraries{
      .mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()};
  const std::string mine =
      identity_line(identity_here(libraries, ranks.session.host(), device_count()));
  for (const std::string& line : all_gather(ranks.host, mine)) {
    if (ranks.first()) fmt::print("{}", line);
  }
  return ExitCode::ok;
}

}  // namespace

WatchdogOptions watchdog_options(const Ranks& ranks, double timeout_seconds) {
  WatchdogOptions watchdog;
  if (timeout_seconds > 0) watchdog.limit_seconds = timeout_seconds;
  watchdog.heeds_termination = true;
  watchdog.end = [&ranks] { ranks.session.abort(code_of(ExitCode::incomplete)); };
  return watchdog;
}

int run_program(int argc, char** argv, const std::function<std::string(int ranks)>& parse,
                const std::function<ExitCode(const Ranks&)>& body) {
  if (const auto code = joined_program(argc, argv)) return *code;
  MpiSession session(argc, argv);
  const bool where = asks_where(argc, argv);
  try {
    // Every rank reads the same command line and comes to the same end: one of them says it.
    const std::string text = where ? "" : parse(session.size());
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
    return code_of(where ? say_where({session, *host}) : body({session, *host}));
  } catch (const JointRefusal& error) {
    if (session.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return code_of(ExitCode::usage);
  } catch (const UsageError& error) {
    // A bad data set is met by all ranks alike: rank 0's report ends the others before theirs.
    if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    end_all(session, error.what(), ExitCode::usage);
  } catch (const std::exception& error) {
    end_all(session, error.what(), ExitCode::internal);
  }
}

}  // namespace scalebench
