// SPDX-License-Identifier: Apache-2.0
// The processes of one launch on this host, wherever mpirun has put them: its ranks are in groups
// of their own. A mark in the environment, which every process inherits, tells them from all
// others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

namespace scalebench {

/// Name and value of the variable that a launch is to be started with: its folder, which no other
/// launch has, added to the marks of the launches that this process is within.
std::pair<std::string, std::string> launch_mark(const std::filesystem::path& folder);

/// Waits for all launches whose folders are `folder` or in it and whose launchers have ended or
/// were asked to: ranks notice only after a while that they are alone, and meanwhile would disturb
/// the next launch and write to files that have been taken up. Those that are there after
/// `patience`, but this process and `launcher`, are ended, which takes four seconds at most.
/// Returns how many processes that were.
int end_launches_in(const std::filesystem::path& folder, std::chrono::seconds patience,
                    pid_t launcher = 0);

}  // namespace scalebench
