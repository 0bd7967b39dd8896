// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <utility>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

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
    : process_(fmt::format("/proc/{}", process)),
      bytes_of_main_thread_(fmt::format("{}/task/{}/io", process_, process)) {}

LifeSigns::Look LifeSigns::look() {
  constexpr double kShare = 0.05;
  // Fields 12, 14 and 15 of proc(5): pages that were loaded, and ticks of all threads.
  constexpr std::size_t kLoaded = 9, kUser = 11, kSystem = 12;
  const double now = watchdog_seconds();
  const double least = kShare * (now - std::exchange(looked_, now));
  const std::vector<std::string> fields = fields_behind_name(process_);
  // A process that is hidden, by how /proc is mounted, counts as alive.
  if (fields.size() <= kSystem) return {.stopped = false, .alive = true};
  const auto number = [&](std::size_t field) {
    return read_number<std::int64_t>(fields[field]).value_or(0);
  };
  const auto ticks = static_cast<double>(number(kUser) + number(kSystem));
  const double computed = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::int64_t moved = bytes_in(bytes_of_main_thread_) + number(kLoaded);
  const bool computes = computed - std::exchange(computed_, computed) > least;
  const bool moves = moved != std::exchange(moved_, moved);
  return {fields[0] == "T", fields[0] == "R" || computes || moves};
}

double watchdog_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace scalebench
