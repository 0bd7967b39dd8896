// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kVariable = "SCALEBENCH_LAUNCH";
constexpr std::chrono::seconds kRest{2};  // that a rank without its launcher has for its own end
constexpr std::chrono::milliseconds kLook{20};
constexpr std::size_t kStart = 19;  // in status_of(): when it began, in the kernel's ticks

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

std::vector<std::string> status_of(pid_t process) {
  return fields_behind_name(fmt::format("/proc/{}", process));
}

/// Whether an environment that was read as empty may be there all the same: while the kernel puts
/// the next program in a process' place (execve(2)) it shows none. Where that program's code ends
/// is what it notes last (fs/binfmt_elf.c), after where the environment begins and ends.
bool may_have_an_environment(pid_t process) {
  constexpr std::size_t kFlags = 6, kCodeEnd = 24, kBegin = 47, kEnd = 48;
  constexpr unsigned kExiting = 0x4, kKernelThread = 0x200000;  // linux/sched.h
  const std::vector<std::string> status = status_of(process);
  if (status.size() <= kEnd || status.front() == "Z") return false;
  const auto flags = read_number<unsigned>(status[kFlags]);
  if (!flags || (*flags & (kExiting | kKernelThread)) != 0) return false;
  return status[kCodeEnd] == "0" || status[kBegin] != status[kEnd];
}

/// By one call of read(2), for between two the kernel may take it away. Empty also where it may not
/// be read.
std::string environment_now(pid_t process) {
  const int file = ::open(fmt::format("/proc/{}/environ", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string variables(std::size_t{1} << 16, '\0');
  std::size_t size = 0;
  for (;; variables.resize(2 * variables.size())) {
    size = static_cast<std::size_t>(
        std::max<ssize_t>(::pread(file, variables.data(), variables.size(), 0), 0));
    if (size < variables.size()) break;
  }
  ::close(file);
  variables.resize(size);
  return variables;
}

std::string environment_of(pid_t process) {
  constexpr std::chrono::seconds kLongest{1};
  for (const Clock::time_point begin = Clock::now();;) {
    std::string variables = environment_now(process);
    if (!variables.empty() || !may_have_an_environment(process)) return variables;
    if (Clock::now() - begin > kLongest) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// The marks of the launches that it is within; empty without one.
std::string marks_of(pid_t process) {
  const std::string name = std::string(kVariable) + "=";
  const std::string variables = '\0' + environment_of(process);
  const std::size_t at = variables.find('\0' + name);
  return at == std::string::npos ? std::string() : variables.c_str() + at + 1 + name.size();
}

/// A folder is meant, whichever way it is named.
std::string mark_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(folder, ignored);
  return fmt::format(":{}/", std::filesystem::weakly_canonical(whole, ignored).string());
}

/// Whether the process that began then has ended with all its threads, if only its parent does not
/// know it yet.
bool has_ended(pid_t process, const std::string& start) {
  constexpr std::size_t kThreads = 17;
  const std::vector<std::string> status = status_of(process);
  if (status.size() <= kStart || status[kStart] != start) return true;
  return status.front() == "Z" && status[kThreads] == "1";
}

/// The processes within launches that `mark` begins the mark of, but this one and `launcher`; and
/// those of earlier looks, which `seen` holds, that have not ended: on its way out a process shows
/// no environment any more, and still has its files, its memory and its device.
std::vector<pid_t> processes_with(const std::string& mark, pid_t launcher, LaunchMark::Seen& seen) {
  for (const pid_t process : processes_here()) {
    if (process == launcher || process == getpid()) continue;
    if (marks_of(process).find(mark) == std::string::npos) continue;
    const std::vector<std::string> status = status_of(process);
    if (status.size() > kStart) seen[process] = status[kStart];
  }
  std::vector<pid_t> found;
  for (const auto& [process, start] : seen) {
    if (!has_ended(process, start)) found.push_back(process);
  }
  return found;
}

/// What is still there after that time.
std::vector<pid_t> wait_for_ends(const std::string& mark, pid_t launcher,
                                 std::chrono::seconds patience, LaunchMark::Seen& seen) {
  const Clock::time_point begin = Clock::now();
  std::vector<pid_t> rest = processes_with(mark, launcher, seen);
  while (!rest.empty() && Clock::now() - begin < patience) {
    std::this_thread::sleep_for(kLook);
    rest = processes_with(mark, launcher, seen);
  }
  return rest;
}

/// Asks them to end, then ends them.
void end_all(const std::string& mark, pid_t launcher, LaunchMark::Seen& seen) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const pid_t process : processes_with(mark, launcher, seen)) ::kill(process, signal);
    if (wait_for_ends(mark, launcher, kRest, seen).empty()) return;
  }
}

}  // namespace

char state_of(pid_t process) {
  const std::vector<std::string> status = status_of(process);
  return status.empty() ? '?' : status.front().front();
}

LaunchMark::LaunchMark(const std::filesystem::path& folder) : mark_(mark_of(folder)) {
  const char* const outer = std::getenv(kVariable);
  variable_ = {kVariable, (outer == nullptr ? "" : outer) + mark_};
}

void LaunchMark::look_at_all(pid_t launcher) { processes_with(mark_, launcher, seen_); }

void LaunchMark::end_rest(pid_t launcher) { end_all(mark_, launcher, seen_); }

int end_launches_in(const std::filesystem::path& run, std::chrono::seconds patience) {
  const std::string mark = mark_of(run);
  LaunchMark::Seen seen;
  const std::vector<pid_t> rest = wait_for_ends(mark, 0, patience, seen);
  if (!rest.empty()) end_all(mark, 0, seen);
  return static_cast<int>(rest.size());
}

}  // namespace scalebench
