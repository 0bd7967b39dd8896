// SPDX-License-Identifier: Apache-2.0
// What every program of ranks does around its work: MPI's life, the promise of the launcher, one
// catch that says `rank host: what`, and the exit codes.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/exit.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/program/watchdog/watchdog.hpp"
#include "collectives/communicator.hpp"
#include "collectives/mpi_session.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// What a program ends with where `error` ended its work: usage, also where a path leads nowhere;
/// incomplete where the disk is full; else internal.
ExitCode code_of_failure(const std::exception& error);
/// What it says then.
std::string text_of_failure(const std::exception& error);

/// A main without ranks: the exit code of `work`, or of its failure, which is said in one line with
/// `who`; what is wrong with a command line is said without.
int guarded(std::string_view who, const std::function<ExitCode()>& work);

// What the user asked for is not valid, and all ranks have found that out together.

/// Thrown by every rank at the same place: one of them says it, and they end without an abort,
/// whose own lines would bury it.
class JointRefusal : public UsageError {
 public:
  using UsageError::UsageError;
};

// How the cases of a program have ended so far: its exit code, and how long the rest may take.

class Outcome {
 public:
  /// `status`: ok, skipped, wrong or failed.
  void count(std::string_view status) {
    ++cases_;
    if (status == "ok") ++measured_;
    if (status == "wrong" || status == "failed") ++broken_;
  }
  /// From the mean of the cases so far; -1 before the first has ended.
  double seconds_left(std::size_t cases_left) const {
    if (cases_ == 0) return -1;
    return (local_seconds() - begin_) / static_cast<double>(cases_) *
           static_cast<double>(cases_left);
  }
  std::size_t cases() const { return cases_; }
  /// A run in which nothing was measured is never a success.
  ExitCode exit_code() const {
    if (broken_ > 0) return ExitCode::incomplete;
    return measured_ > 0 ? ExitCode::ok : ExitCode::nothing_measured;
  }

 private:
  double begin_ = local_seconds();
  std::size_t cases_ = 0;
  std::size_t measured_ = 0;
  std::size_t broken_ = 0;
};

/// The ranks that a program runs on: `host` carries its own coordination, and `progress` is told
/// what they do, from their first message to their last, by which `watchdog` watches.
struct Ranks {
  const MpiSession& session;
  Communicator& host;
  ProgressMarks& progress;
  Watchdog& watchdog;
  bool first() const { return session.rank() == 0; }
};

/// For a failure of this rank after which nothing may unwind, as other ranks may be inside a
/// collective: says it, and ends all ranks.
[[noreturn]] void end_all(const MpiSession& session, Watchdog& watchdog,
                          const std::exception& error);

/// -V, which every program has.
void add_version_option(CLI::App& app);
/// -T, which every program of ranks has: its watchdog's limit.
void add_timeout_option(CLI::App& app, double& seconds);

/// What a program's words say to what runs it.
struct ProgramWords {
  std::string text;            // help or a list, printed instead of running; empty: it runs
  double timeout_seconds = 0;  // of the watchdog; 0: its own
};

/// From a command line without old names.
using ParseWords = std::function<ProgramWords(std::span<const char* const> words, int ranks)>;

/// Runs a program on every rank: `parse` first, whose UsageError rank 0 reports; then `body`,
/// watched, any failure of which is reported by the rank that has it and ends all ranks. Returns
/// the exit code.
int run_program(int argc, char** argv, const ParseWords& parse,
                const std::function<ExitCode(const Ranks&)>& body);

/// The same for options that hold these words.
template <class Options>
int run_program(int argc, char** argv, Options (*parse)(int, const char* const*, int ranks),
                ExitCode (*body)(const Ranks&, const Options&)) {
  Options options;
  return run_program(
      argc, argv,
      [&](std::span<const char* const> words, int ranks) {
        options = parse(static_cast<int>(words.size()), words.data(), ranks);
        return ProgramWords{options.text, options.timeout_seconds};
      },
      [&](const Ranks& ranks) { return body(ranks, options); });
}

}  // namespace scalebench
