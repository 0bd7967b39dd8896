// SPDX-License-Identifier: Apache-2.0
// The daemons of ranks (orted, prted) that this process has started, and their end: none of them,
// and nothing that they have started, stays behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace scalebench {

class Daemons {
 public:
  /// `adopts`: processes whose parent ends become this one's, so that end_all finds them. For a
  /// process that starts nothing else.
  explicit Daemons(bool adopts);
  ~Daemons() { end_all(std::chrono::milliseconds(0)); }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  /// Starts argv without a shell; its stdout goes to stderr. It is asked to end when the calling
  /// thread ends. Returns its number. Throws Error.
  pid_t start(const std::vector<std::string>& argv);
  /// Asks one to end.
  void stop(pid_t daemon) const;

  struct Ended {
    pid_t daemon = 0;
    int status = 0;  // exit code; 128 + signal
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

/// In a child that has just been forked: a group of its own, SIGTERM when `parent`'s thread ends,
/// nothing to read, and then `argv`. Ends with 127 when it cannot.
[[noreturn]] void become(const std::vector<char*>& argv, pid_t parent, bool stdout_to_stderr);

/// Null-terminated, pointing into `words`.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// The exit code of a wait status; 128 + signal.
int exit_status(int wait_status);

}  // namespace scalebench
