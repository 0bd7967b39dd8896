// SPDX-License-Identifier: Apache-2.0
#include "bench/program/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <thread>

#include "bench/cli/console.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/cli/words.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/launch/process.hpp"
#include "bench/machine/environment.hpp"
#include "bench/machine/identity.hpp"
#include "bench/record/file.hpp"
#include "collectives/control.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kPlaces = "--places";

int code_of(ExitCode code) { return static_cast<int>(code); }

/// Every rank's identity, by rank.
ExitCode say_places(const MpiSession& session, Communicator& host) {
  const LinkedLibraries libraries{
      .mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()};
  const std::string mine = identity_line(identity_here(libraries, session.host(), device_count()));
  for (const std::string& line : all_gather(host, mine)) {
    if (session.rank() == 0) fmt::print("{}", line);
  }
  return ExitCode::ok;
}

/// A process that a platform started beside others becomes `scalebench`, which starts the ranks of
/// this program once for all of them.
void leave_to_scalebench(int argc, char** argv) {
  const auto place = process_place(environment_variables(::environ));
  if (!place) return;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  const std::string name = own.filename().string();  // "bench_epoch": its verb is "epoch"
  std::vector<std::string> command{own.parent_path() / "scalebench",
                                   name.substr(name.find('_') + 1), "--"};
  if (!find_program(command.front())) {
    fail<UsageError>("{}: {} starts the ranks, and is not there; install it beside {}",
                     place->source, command.front(), name);
  }
  command.insert(command.end(), argv + 1, argv + argc);
  become(command, {});
}

/// A command line that was read: what runs, or the exit code of one that asks for a text or is not
/// valid.
struct ReadLine {
  ProgramWords words;
  bool places = false;
  std::optional<ExitCode> code;
};

/// Every rank reads the same command line and comes to the same end: the one that `speaks` says it.
ReadLine read_line(int argc, char** argv, const ParseWords& parse, int ranks, bool speaks) {
  ReadLine line;
  try {
    const std::vector<const char*> typed(argv, argv + argc);
    line.places = std::find(typed.begin(), typed.end(), kPlaces) != typed.end();
    if (!line.places) line.words = parse(typed, ranks);
    if (line.words.text.empty()) return line;
    if (speaks) fmt::print("{}", line.words.text);
    flush_result();
    line.code = ExitCode::ok;
  } catch (const UsageError& error) {
    if (speaks) print_line(error.what());
    line.code = ExitCode::usage;
  }
  return line;
}

ExitCode run_on_ranks(int argc, char** argv, const ParseWords& parse,
                      const std::function<ExitCode(const Ranks&)>& body) {
  ReadLine line;
  // Who asks for help or mistypes need not have an MPI that works.
  const bool alone = !is_mpi_rank(environment_variables(::environ));
  if (alone) line = read_line(argc, argv, parse, 1, /*speaks=*/true);
  if (line.code) return *line.code;
  Watchdog watchdog(argc, argv, /*is_rank=*/!alone);
  MpiSession session(argc, argv);
  if (!alone) line = read_line(argc, argv, parse, session.size(), session.rank() == 0);
  if (line.code) return *line.code;
  const ProgramWords& words = line.words;
  std::unique_ptr<Communicator> host;
  try {
    require_promised_ranks(session);
    require_calls_from_any_thread();
    host = make_mpi_communicator();
    ProgressMarks& progress = watchdog.progress();
    host->set_marks(&progress.calls());
    if (line.places) return say_places(session, *host);
    Patience patience;
    if (words.timeout_seconds > 0) patience = {words.timeout_seconds, /*stretches=*/false};
    watchdog.watch(*host, patience);
    progress.work("preparing");
    const ExitCode code = body({session, *host, progress, watchdog});
    watchdog.part();
    return code;
  } catch (const JointRefusal& error) {
    watchdog.part();
    if (session.rank() == 0) print_line(error.what());
    return ExitCode::usage;
  } catch (const std::exception& error) {
    end_all(session, watchdog, error);
  }
}

}  // namespace

ExitCode code_of_failure(const std::exception& error) {
  // Of a call of std::filesystem, which looks at what the user has named.
  const auto* const of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  const int reason = of_file != nullptr ? of_file->code().value() : 0;
  if (dynamic_cast<const UsageError*>(&error) != nullptr || means_bad_path(reason)) {
    return ExitCode::usage;
  }
  if (dynamic_cast<const DiskFull*>(&error) != nullptr || means_disk_full(reason)) {
    return ExitCode::incomplete;
  }
  return ExitCode::internal;
}

std::string text_of_failure(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  const bool of_one_path =
      of_file != nullptr && !of_file->path1().empty() && of_file->path2().empty();
  if (!of_one_path) return error.what();
  return fmt::format("{}: {}", of_file->path1().string(), of_file->code().message());
}

void add_version_option(CLI::App& app) {
  app.set_version_flag("-V,--version", build_info().version, "the version of this program");
}

void add_timeout_option(CLI::App& app, double& seconds) {
  const auto take = [&seconds](const double& typed) {
    if (!(typed >= 0)) fail<UsageError>("-T: must not be negative");
    seconds = typed;
  };
  add_word<double>(app, "-T,--timeout", seconds, take,
                   "seconds without progress after which a rank that hangs is named and all end; "
                   "0: 25, more for what is expected to take long")
      ->group(kFaults);
}

int guarded(std::string_view who, const std::function<ExitCode()>& work) {
  keep_standard_streams();
  heed_file_size_limit();
  try {
    return code_of(work());
  } catch (const std::exception& error) {
    const ExitCode code = code_of_failure(error);
    const bool named = code != ExitCode::usage && !who.empty();
    const auto say = code == ExitCode::usage ? &print_line : &say_last;
    say(fmt::format("{}{}{}", named ? who : "", named ? ": " : "", text_of_failure(error)));
    return code_of(code);
  }
}

void end_all(const MpiSession& session, Watchdog& watchdog, const std::exception& error) {
  watchdog.give_up();
  const ExitCode code = code_of_failure(error);
  // A bad data set is met by all ranks alike: rank 0's report ends the others before theirs.
  if (code == ExitCode::usage && session.rank() != 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  say_last(fmt::format("rank {} {}: {}", session.rank(), session.host(), text_of_failure(error)));
  session.abort(code_of(code));
}

int run_program(int argc, char** argv, const ParseWords& parse,
                const std::function<ExitCode(const Ranks&)>& body) {
  // Where MPI itself cannot begin or end, the launcher ends the other ranks when this one is gone.
  return guarded(own_host_name(), [&] {
    leave_to_scalebench(argc, argv);
    return run_on_ranks(argc, argv, parse, body);
  });
}

}  // namespace scalebench
