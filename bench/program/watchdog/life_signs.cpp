// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace scalebench {
namespace {

/// Fields of /proc/PID/stat, by proc(5).
struct Status {
  char state = 0;
  std::int64_t faults = 0;  // for which a page was loaded
  double computed = 0;      // seconds of all threads on a processor
};

Status status_in(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is a name in parentheses, which may hold any of them.
  std::istringstream words(text.substr(text.rfind(')') + 1));
  Status status;
  words >> status.state;
  std::int64_t fields[12] = {};  // 4 to 15
  for (std::int64_t& one : fields) words >> one;
  status.faults = fields[8];
  status.computed = static_cast<double>(fields[10] + fields[11]);
  status.computed /= static_cast<double>(sysconf(_SC_CLK_TCK));
  return status;
}

/// What has gone through read, write and their like, on every file system, and not through send and
/// recv; 0 where the system does not tell.
std::int64_t bytes_in(const std::string& path) {
  std::ifstream words(path);
  std::string rchar, wchar;
  std::int64_t in = 0, out = 0;
  return words >> rchar >> in >> wchar >> out ? in + out : 0;
}

}  // namespace

LifeSigns::LifeSigns(pid_t process)
    : status_(fmt::format("/proc/{}/stat", process)),
      bytes_of_main_thread_(fmt::format("/proc/{0}/task/{0}/io", process)) {}

LifeSigns::Look LifeSigns::look() {
  constexpr double kShare = 0.05;
  const double now = watchdog_seconds();
  const double least = kShare * (now - std::exchange(looked_, now));
  const Status status = status_in(status_);
  const std::int64_t moved = bytes_in(bytes_of_main_thread_) + status.faults;
  const bool computes = status.computed - std::exchange(computed_, status.computed) > least;
  const bool moves = moved != std::exchange(moved_, moved);
  const bool is_hidden = status.state == 0;  // by how /proc is mounted: it counts as alive
  return {status.state == 'T', status.state == 'R' || is_hidden || computes || moves};
}

double watchdog_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace scalebench
