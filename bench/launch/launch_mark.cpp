// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_mark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/machine/identity.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kVariable = "SCALEBENCH_LAUNCH";
constexpr std::chrono::seconds kRest{2};  // that a rank without its launcher has for its own end

std::vector<pid_t> processes_here() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (const auto process = read_number<pid_t>(entry.path().filename().string())) {
      found.push_back(*process);
    }
  }
  return found;
}

std::string environment_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// /proc/PID/stat from the third field on, which is the state (proc(5)): the second is the name,
/// which may hold anything. Empty where there is no such process.
std::vector<std::string> status_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 2));
  return {std::istream_iterator<std::string>(fields), {}};
}

/// Start, and processor time so far in user and system; empty unless it is stopped.
std::string stopped_at(pid_t process) {
  constexpr std::size_t kUser = 11, kSystem = 12, kStart = 19;
  const std::vector<std::string> status = status_of(process);
  if (status.size() <= kStart || status.front() != "T") return {};
  return fmt::format("{} {} {}", status[kStart], status[kUser], status[kSystem]);
}

/// By the variable of its launcher; empty where it is no rank.
std::string rank_of(pid_t process) {
  const std::string variables = environment_of(process);
  for (const std::string_view name : kRankVariables) {
    const std::size_t at = variables.find(std::string(name) + "=");
    if (at != std::string::npos) return variables.c_str() + at + name.size() + 1;
  }
  return {};
}

}  // namespace

char state_of(pid_t process) {
  const std::vector<std::string> status = status_of(process);
  return status.empty() ? '?' : status.front().front();
}

LaunchMark::LaunchMark()
    : mark_(fmt::format(":{}.{}:", getpid(), Clock::now().time_since_epoch().count())) {
  const char* const outer = std::getenv(kVariable);
  variable_ = {kVariable, (outer == nullptr ? "" : outer) + mark_};
}

bool LaunchMark::is_on(pid_t process) const {
  return environment_of(process).find(mark_) != std::string::npos;
}

void LaunchMark::end_rest(pid_t launcher) const {
  const auto left = [&] {
    std::vector<pid_t> found;
    for (const pid_t process : processes_here()) {
      if (process != launcher && is_on(process)) found.push_back(process);
    }
    return found;
  };
  for (const int signal : {SIGTERM, SIGKILL}) {
    const Clock::time_point begin = Clock::now();
    std::vector<pid_t> rest = left();
    for (const pid_t process : rest) ::kill(process, signal);
    while (!rest.empty() && Clock::now() - begin < kRest) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rest = left();
    }
    if (rest.empty()) return;
  }
}

std::string LaunchMark::still_stopped(pid_t launcher) {
  std::map<pid_t, std::string> now;
  std::string text;
  for (const pid_t process : processes_here()) {
    const std::string at = stopped_at(process);
    if (at.empty() || !is_on(process)) continue;
    const std::string rank = rank_of(process);
    if (rank.empty() && process != launcher) continue;
    now[process] = at;
    const auto before = stopped_.find(process);
    if (before == stopped_.end() || before->second != at) continue;
    text += fmt::format("{}{} on {} (process {}) is stopped", text.empty() ? "" : "; ",
                        process == launcher ? "the launcher" : "rank " + rank, own_host_name(),
                        process);
  }
  stopped_ = std::move(now);
  return text;
}

}  // namespace scalebench
