// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_mark.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "SCALEBENCH_LAUNCH";

/// Of the launches that it is within; not where its variables may not be read.
bool shows(const fs::path& process, const std::string& mark) {
  std::ifstream file(process / "environ");
  std::string variable;
  while (std::getline(file, variable, '\0') &&
         !variable.starts_with(kVariable + std::string("="))) {
  }
  return file && variable.find(mark) != std::string::npos;
}

/// A folder is meant, whichever way it is named. The mark of a run begins those of its launches.
std::string mark_of(const fs::path& folder) {
  std::error_code ignored;
  return fmt::format(":{}/", fs::weakly_canonical(fs::absolute(folder, ignored), ignored).string());
}

/// A process of which the system gives no descriptor counts as gone once it shows no mark.
bool has_ended(const Descriptor& process) {
  pollfd end{process.number(), POLLIN, 0};
  return !process.is_open() || ::poll(&end, 1, 0) > 0;
}

/// Leaves out of `seen` those that have ended, and enters those that show `mark`.
void look(const std::string& mark, pid_t launcher, LaunchProcesses& seen) {
  std::erase_if(seen, [](const auto& one) { return has_ended(one.second); });
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = read_number<pid_t>(entry.path().filename().string());
    if (!process || *process == launcher || *process == getpid()) continue;
    if (seen.contains(*process) || !shows(entry.path(), mark)) continue;
    seen.emplace(*process, static_cast<int>(::syscall(SYS_pidfd_open, *process, 0)));
  }
}

/// Whether nobody is left within `patience`. While the kernel puts the next program in a process'
/// place it shows no environment (execve(2)), so that nobody must be seen several times in a row.
bool end_within(std::chrono::seconds patience, const std::string& mark, pid_t launcher,
                LaunchProcesses& seen) {
  using Clock = std::chrono::steady_clock;
  constexpr int kEmptyLooks = 5;
  const Clock::time_point begin = Clock::now();
  for (int empty_looks = 0;;) {
    look(mark, launcher, seen);
    empty_looks = seen.empty() ? empty_looks + 1 : 0;
    if (empty_looks == kEmptyLooks) return true;
    if (!seen.empty() && Clock::now() - begin >= patience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(seen.empty() ? 5 : 20));
  }
}

}  // namespace

std::pair<std::string, std::string> launch_mark(const fs::path& folder) {
  const char* const outer = std::getenv(kVariable);
  return {kVariable, (outer == nullptr ? "" : outer) + mark_of(folder)};
}

LaunchProcesses processes_of(const fs::path& folder, pid_t launcher) {
  LaunchProcesses seen;
  look(mark_of(folder), launcher, seen);
  return seen;
}

int end_launches_in(const fs::path& folder, std::chrono::seconds patience, pid_t launcher,
                    LaunchProcesses seen) {
  constexpr std::chrono::seconds kForItsOwnEnd{2};
  const std::string mark = mark_of(folder);
  if (end_within(patience, mark, launcher, seen)) return 0;
  const auto count = static_cast<int>(seen.size());
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const auto& [process, descriptor] : seen) ::kill(process, signal);
    if (end_within(kForItsOwnEnd, mark, launcher, seen)) break;
  }
  return count;
}

}  // namespace scalebench
