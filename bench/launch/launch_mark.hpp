// SPDX-License-Identifier: Apache-2.0
// The processes of one launch on this host, wherever mpirun has put them: its ranks are in groups
// of their own. A mark in the environment, which every process inherits, tells them from all
// others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace scalebench {

class LaunchMark {
 public:
  /// The folder of the launch, which no other has, added to the marks of the launches that this
  /// process is within.
  explicit LaunchMark(const std::filesystem::path& folder);

  /// Name and value of the variable that a launch is to be started with.
  const std::pair<std::string, std::string>& variable() const { return variable_; }

  /// When processes that were seen began, in the kernel's ticks: a number may be given again.
  using Seen = std::map<pid_t, std::string>;

  /// Before anything is ended: a process that is on its way out shows its mark no more, and
  /// end_rest() waits for those alone that it knows.
  void look_at_all(pid_t launcher);

  /// Ends what is left of the launch when its launcher has ended: ranks notice only after a while
  /// that they are alone, and meanwhile would disturb the next launch and write to files that have
  /// been taken up. At most four seconds.
  void end_rest(pid_t launcher);

 private:
  std::string mark_;
  std::pair<std::string, std::string> variable_;
  Seen seen_;
};

/// Waits for all launches whose folders are in `run` and which have outlived the program that
/// started them: their launchers were asked to end when it was killed, and write to their logs
/// until they have. Those that are there after `patience` are ended. Returns how many processes
/// that were.
int end_launches_in(const std::filesystem::path& run,
                    std::chrono::seconds patience = std::chrono::seconds(10));

/// As ps has it: R, S, D, T, Z; '?' where it cannot be read.
char state_of(pid_t process);

}  // namespace scalebench
