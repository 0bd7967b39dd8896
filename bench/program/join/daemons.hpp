// SPDX-License-Identifier: Apache-2.0
// The daemons of ranks (orted, prted) that this process has started, and their end: none of them,
// and nothing that they have started, stays behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace scalebench {

// The command that mpirun would have a remote shell run, as arguments of the daemon of ranks. No
// shell ever sees it: quotes are taken off, and anything that only a shell could do is refused. Who
// starts the daemon takes nothing but these arguments from elsewhere, and of these only some.

/// Names another mpirun than that of the PATH.
inline constexpr const char* kMpirunVariable = "SCALEBENCH_MPIRUN";

struct DaemonRequest {
  std::string name;                    // "orted" or "prted": what its mpirun works with
  std::vector<std::string> arguments;  // without the name
};

/// `words`: what follows the host's name in the command line of mpirun's agent for remote shells,
/// `orted -mca ess "env" ...`, or `PATH=/opt/mpi/bin:$PATH ; export PATH ; ... /opt/mpi/bin/orted
/// ...`, whose assignments are left out, as is the agent itself. Throws Error when the program is
/// not orted or prted, or there is more than one command.
DaemonRequest daemon_request(const std::vector<std::string>& words);

/// The daemon of this host's own MPI: beside mpirun (SCALEBENCH_MPIRUN, else that of the PATH),
/// wherever its links lead, else the one of the PATH. An absolute path; empty: there is none.
std::filesystem::path own_daemon();

/// argv of the own daemon for somebody else's request. Throws Error, one line, where there is no
/// own one or it is that of another MPI, and where an argument is not on the list of those that
/// mpirun needs: none names a program, a library or a file.
std::vector<std::string> own_daemon_command(const std::filesystem::path& daemon,
                                            const DaemonRequest& request);

class Daemons {
 public:
  /// `adopts`: processes whose parent ends become this one's, so that end_all finds them. For a
  /// process that starts nothing else.
  explicit Daemons(bool adopts);
  ~Daemons() { end_all(std::chrono::milliseconds(0)); }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  /// Starts argv without a shell; its stdout goes to stderr. It is asked to end when the calling
  /// thread ends. `host`: what its host is to be called for it and all that it starts, where the
  /// kernel lets us (can_name_hosts); empty: as it is. Returns its number. Throws Error.
  pid_t start(const std::vector<std::string>& argv, const std::string& host);
  /// Asks one to end.
  void stop(pid_t daemon) const;

  struct Ended {
    pid_t daemon = 0;
    int status = 0;  // exit code; 128 + signal; 255: nobody knows
  };
  /// Those that have ended since the last call.
  std::vector<Ended> ended();

  /// Asks all to end, and after `grace` makes them.
  void end_all(std::chrono::milliseconds grace);

 private:
  std::vector<pid_t> children() const;

  bool adopts_;
  std::vector<pid_t> running_;
};

/// Whether a process of ours can have a host name of its own: as root, or where users may make
/// namespaces.
bool can_name_hosts();

/// Starts argv without a shell, in a group of its own, with nothing to read; SIGTERM comes when
/// this thread ends. `host`: as for Daemons::start. It ends with 127 when it cannot begin. Throws
/// Error.
pid_t start_process(const std::vector<std::string>& argv, bool stdout_to_stderr,
                    const std::string& host = {});

/// The exit code of a wait status; 128 + signal.
int exit_status(int wait_status);

}  // namespace scalebench
