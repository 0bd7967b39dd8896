// SPDX-License-Identifier: Apache-2.0
// Other programs as children: a short question with its answer, or a launch that is waited for with
// its output in files. Neither hangs for ever, leaves a process behind, or lets a shell see an
// argument.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scalebench {

using Variables = std::vector<std::pair<std::string, std::string>>;  // names and values

struct CommandAnswer {
  bool answered = false;  // started, ended by itself, and with exit code 0
  int code = -1;          // of an end by itself
  std::string output;     // stdout and stderr, as far as read; or "program: why it did not start"
};

/// Runs `command` with an empty stdin, and with `environment` added to this process's; it is killed
/// once it says nothing for `patience_seconds`, and left to itself where that does not end it.
CommandAnswer ask(const std::vector<std::string>& command, int patience_seconds,
                  const Variables& environment = {});

/// As ps has it: R, S, D, T, Z; '?' where it cannot be read.
char state_of(pid_t process);

/// The executable file that `name` stands for: as it is when it has a '/', else the first on the
/// PATH.
std::optional<std::filesystem::path> find_program(std::string_view name);

/// A command as one line that a shell takes.
std::string shell_line(const std::vector<std::string>& command);

/// The line of a launch's output that says most: a rank's own ("rank 1 host: what"), else a
/// launcher's about a signal, else the last one of a program, else the first of what Open MPI puts
/// between rules of dashes; empty: it says nothing.
std::string said_in(std::string_view output);

/// Whether a launcher of Open MPI 4 that said so has started nobody: it removes a user's common
/// session folder with the last of his jobs, and one that starts just then cannot make its own in
/// it. The next attempt can.
bool lost_its_folder(std::string_view said);

/// Puts the command, with these variables too, in this process's place. Returns only by throwing.
[[noreturn]] void become(const std::vector<std::string>& command, const Variables& environment);

struct LaunchEnd {
  bool ok = false;
  bool interrupted = false;  // `stop` was set while it ran
  double seconds = 0;        // with all attempts
  // One line when not ok: what the program said, the signal, or the deadline; and what else is
  // known: that it does not even end when it is killed, or that the kernel ended processes to get
  // memory.
  std::string why;
};

/// Runs `command` in a process group of its own, with stdout and stderr in `folder`/stdout.log and
/// stderr.log, the command in command.txt, and `environment` added to this process's. After
/// `deadline_seconds`, or when `stop` becomes true, the group gets SIGTERM, and ten seconds later
/// SIGKILL; what does not end within another ten seconds is left to itself. Starts up to twice more
/// where lost_its_folder().
LaunchEnd run_launch(const std::vector<std::string>& command, const Variables& environment,
                     const std::filesystem::path& folder, double deadline_seconds,
                     const std::atomic<bool>& stop);

}  // namespace scalebench
