// SPDX-License-Identifier: Apache-2.0
// The command that mpirun would have a remote shell run, as argv of the daemon of ranks. No shell
// ever sees it: quotes are taken off, and anything that only a shell could do is refused.
#pragma once

#include <string>
#include <vector>

namespace scalebench {

/// `words`: what follows the host's name in the command line of mpirun's agent for remote shells,
/// `orted -mca ess "env" ...`, or `PATH=/opt/mpi/bin:$PATH ; export PATH ; ... /opt/mpi/bin/orted
/// ...`, whose assignments are left out. Throws Error when the program is not orted or prted, or
/// there is more than one command.
std::vector<std::string> daemon_command(const std::vector<std::string>& words);

/// Whether argv starts such a daemon; the receiving side's own check.
bool is_daemon_command(const std::vector<std::string>& argv);

}  // namespace scalebench
