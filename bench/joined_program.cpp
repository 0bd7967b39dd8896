// SPDX-License-Identifier: Apache-2.0
#include "bench/joined_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bench/interruption.hpp"
#include "bench/join/attend.hpp"
#include "bench/join/joined_start.hpp"
#include "bench/record/file.hpp"
#include "collectives/mpi_session.hpp"
#include "kernels/device.hpp"

namespace scalebench {
namespace {

constexpr const char* kHostsVariable = "SCALEBENCH_HOSTS";  // what a study takes for its hosts

void require_open_mpi() {
  const std::string mpi = MpiSession::library_version();
  if (mpi.starts_with("Open MPI")) return;
  fail<UsageError>(
      "a start without an MPI launcher needs Open MPI, whose daemons it can hand over; this "
      "program "
      "is linked with {}: start it with that MPI's launcher",
      mpi);
}

void say_who_came(const JoinPlan& plan, const Meeting& meeting) {
  fmt::print(stderr, "{}: {} processes met at {}; hosts and ranks: {}\n", plan.source, plan.size(),
             describe(meeting.at()), host_words(meeting.hosts()));
  if (!plan.note.empty()) fmt::print(stderr, "{}\n", plan.note);
}

/// The part of the first process: `work` with everybody there. An exit code reaches all.
int lead(const JointStart& start, bool quiet, const Interruption& interruption,
         const std::function<int(Meeting&)>& work) {
  Meeting meeting(start.plan, start.key,
                  [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  const auto leave = [&](ExitCode code) { meeting.goodbye(static_cast<int>(code)); };
  try {
    meeting.gather(start.patience, interruption.stop());
    lead_mpirun_to(meeting);
    if (!quiet) say_who_came(start.plan, meeting);
    const int code = work(meeting);
    meeting.goodbye(code);
    return code;
  } catch (const UsageError&) {
    leave(ExitCode::usage);
    throw;
  } catch (const DiskFull&) {
    leave(ExitCode::incomplete);
    throw;
  } catch (const NotTogether&) {
    leave(interruption.stop() ? interruption.exit_code() : ExitCode::incomplete);
    throw;
  }  // others are internal, and so is the goodbye of a meeting that ends without one
}

/// Any process's part.
int take_part(const JointStart& start, bool quiet, const std::function<int(Meeting&)>& work) {
  const Interruption interruption;
  try {
    require_open_mpi();
    return start.plan.is_first()
               ? lead(start, quiet, interruption, work)
               : attend(start.plan, start.key, start.patience, interruption.stop());
  } catch (const NotTogether& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(interruption.stop() ? interruption.exit_code() : ExitCode::incomplete);
  }
}

RankProgram own_program(int argc, char** argv) {
  RankProgram program;
  program.command.assign(argv, argv + argc);
  program.command.front() = std::filesystem::read_symlink("/proc/self/exe");
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  program.threads = threads == nullptr ? 1 : std::max(1, std::atoi(threads));
  program.drives_devices = device_count() > 0;
  return program;
}

}  // namespace

std::optional<int> relayed(int argc, char** argv) {
  if (argc < 2 || argv[1] != std::string_view(kRelayWord)) return std::nullopt;
  return relay({argv + 2, argv + argc});
}

std::optional<int> joined_program(int argc, char** argv) {
  if (const auto code = relayed(argc, argv)) return code;
  try {
    const auto start = enter_joint_start();
    if (!start) return std::nullopt;
    const Interruption interruption;
    const auto is_quiet = [](std::string_view word) { return word == "-q" || word == "--quiet"; };
    return take_part(*start, std::any_of(argv, argv + argc, is_quiet), [&](Meeting& meeting) {
      return run_ranks(own_program(argc, argv), meeting, interruption.stop());
    });
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}

ExitCode joined_study(bool quiet, const std::function<ExitCode()>& study) {
  const auto start = enter_joint_start();
  if (!start) return study();
  const int code = take_part(*start, quiet, [&](Meeting& meeting) {
    // Of its own hosts a managed job says more: which of their slots a study for the CPU takes.
    const bool knows_slots = start->plan.slots > 0 && start->plan.source != "SM_HOSTS";
    const std::string hosts = host_words(meeting.hosts());
    if (knows_slots) setenv(kHostsVariable, hosts.c_str(), /*overwrite=*/0);
    const ExitCode end = study();
    return static_cast<int>(end == ExitCode::ok && !meeting.lost().empty() ? ExitCode::incomplete
                                                                           : end);
  });
  return static_cast<ExitCode>(code);
}

}  // namespace scalebench
