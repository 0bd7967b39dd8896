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

}  // namespace

std::pair<std::string, std::string> launch_mark(const fs::path& folder) {
  const char* const outer = std::getenv(kVariable);
  return {kVariable, (outer == nullptr ? "" : outer) + mark_of(folder)};
}

LaunchProcesses::LaunchProcesses(const fs::path& folder) : mark_(mark_of(folder)) { look(); }

/// Leaves out those that have ended, and enters those that show the mark.
void LaunchProcesses::look() {
  std::erase_if(seen_, [](const auto& one) { return has_ended(one.second); });
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = read_number<pid_t>(entry.path().filename().string());
    if (!process || *process == getpid() || seen_.contains(*process)) continue;
    if (!shows(entry.path(), mark_)) continue;
    seen_.emplace(*process, static_cast<int>(::syscall(SYS_pidfd_open, *process, 0)));
  }
}

/// Whether nobody is left within `patience`. While the kernel puts the next program in a process'
/// place it shows no environment (execve(2)), so that nobody must be seen several times in a row.
bool LaunchProcesses::end_within(std::chrono::seconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr int kEmptyLooks = 5;
  const Clock::time_point begin = Clock::now();
  for (int empty_looks = 0;;) {
    look();
    empty_looks = seen_.empty() ? empty_looks + 1 : 0;
    if (empty_looks == kEmptyLooks) return true;
    if (!seen_.empty() && Clock::now() - begin >= patience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(seen_.empty() ? 5 : 20));
  }
}

int LaunchProcesses::end(std::chrono::seconds patience) {
  constexpr std::chrono::seconds kForItsOwnEnd{2};
  if (end_within(patience)) return 0;
  const auto count = static_cast<int>(seen_.size());
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const auto& [process, descriptor] : seen_) ::kill(process, signal);
    if (end_within(kForItsOwnEnd)) break;
  }
  return count;
}

}  // namespace scalebench
