// SPDX-License-Identifier: Apache-2.0
// A study inside a managed job: the job's defaults, its hosts, and what it will be billed for.
#pragma once

#include "bench/verbs/study_setup.hpp"

namespace scalebench {

/// Reads the job's variables of this process into `options`, below what the command line says. A
/// default that is not used is dropped, so that what remains is what came from the job. Throws
/// UsageError for variables that cannot be understood.
void enter_job(StartOptions& options);

/// Ranks that one host of the job takes: its GPUs, unless the study is for the CPU.
int slots_of(const ManagedJob& job, const StudyConfig& config);

/// After the run: what the job has cost so far and how much of it was training; nothing elsewhere.
void note_job_account(const StudyRun& study, Console& console);

}  // namespace scalebench
