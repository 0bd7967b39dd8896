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

#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// Name and value of the variable that a launch is to be started with: its folder, which no other
/// launch has, added to the marks of the launches that this process is within.
std::pair<std::string, std::string> launch_mark(const std::filesystem::path& folder);

/// Processes of the launches whose folders are `folder` or in it, but this one. Each is kept with a
/// descriptor of itself: on its way out a process shows no environment any more, and still has its
/// files, its memory and its device.
class LaunchProcesses {
 public:
  /// Those that are there now; more are found by end().
  explicit LaunchProcesses(const std::filesystem::path& folder);

  /// For launches whose launchers have ended or were asked to. Waits for all: ranks notice only
  /// after a while that they are alone, and meanwhile would disturb the next launch and write to
  /// files that have been taken up. Those that are there after `patience` are ended, which takes
  /// four seconds at most. Returns how many these were.
  int end(std::chrono::seconds patience);

 private:
  void look();
  bool end_within(std::chrono::seconds patience);

  std::string mark_;
  std::map<pid_t, Descriptor> seen_;
};

}  // namespace scalebench
