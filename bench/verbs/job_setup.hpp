// SPDX-License-Identifier: Apache-2.0
// A study inside a managed job: the job's defaults, its hosts, and what it will be billed for.
#pragma once

#include <chrono>
#include <functional>

#include "bench/interruption.hpp"
#include "bench/verbs/study_setup.hpp"

namespace scalebench {

/// Reads the job's variables of this process into `options`, below what the command line says. A
/// default that is not used is dropped, so that what remains is what came from the job. Throws
/// UsageError for variables that cannot be understood.
void enter_job(StartOptions& options);

/// Ranks that one host of the job takes: its GPUs, unless the study is for the CPU.
int slots_of(const ManagedJob& job, const StudyConfig& config);

/// mpirun's options for several hosts; none for one host, or where the config names hosts itself.
std::vector<std::string> host_arguments(const ManagedJob& job, const StudyConfig& config);

bool waits_for_first_host(const StartOptions& options);

struct StandByLimits {
  std::chrono::milliseconds first{std::chrono::minutes(10)};  // until the ranks' daemon is seen
  std::chrono::milliseconds gap{std::chrono::minutes(2)};     // without one between two launches
  std::chrono::milliseconds poll{1000};
};

/// On the other hosts: keeps the container, into which the first host starts ranks, for as long as
/// they come (mpirun's daemon orted or prted is seen), as the service's own launcher does.
/// nothing_measured when they never come.
ExitCode stand_by(const ManagedJob& job, const Interruption& interruption, Console& console,
                  const StandByLimits& limits = {});

/// After the run: what the job has cost so far and how much of it was training; nothing elsewhere.
void note_job_account(const StudyRun& study, Console& console);

}  // namespace scalebench
