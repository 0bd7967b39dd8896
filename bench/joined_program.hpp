// SPDX-License-Identifier: Apache-2.0
// What a program does first where no MPI launcher has started it, but torchrun, TF_CONFIG,
// SageMaker or Slurm have started several of it: they find each other and become the ranks of one
// mpirun, or the hosts of one study.
#pragma once

#include <functional>
#include <optional>

#include "bench/exit_code.hpp"

namespace scalebench {

/// For a program of ranks, before MPI's life begins. The exit code of a process whose part is over
/// then: all ranks have run and ended, or they could not be started; or it was mpirun's relay.
/// Empty: it is a rank, or alone.
std::optional<int> joined_program(int argc, char** argv);

/// For scalebench: runs `study` once, in the first process, whose launches then reach all hosts;
/// the others stay until its end. Everybody returns the same exit code.
ExitCode joined_study(bool quiet, const std::function<ExitCode()>& study);

/// The exit code of mpirun's relay, when this process is one.
std::optional<int> relayed(int argc, char** argv);

}  // namespace scalebench
