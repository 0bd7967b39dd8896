// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "bench/program/watchdog/link.hpp"

namespace scalebench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Of the main thread, what has gone through read, write and their like, on every file system, and
/// not through send and recv; 0 where the system does not tell.
std::int64_t bytes_of_main_thread() {
  std::ifstream words(fmt::format("/proc/self/task/{}/io", getpid()));
  std::string rchar, wchar;
  std::int64_t in = 0, out = 0;
  return words >> rchar >> in >> wchar >> out ? in + out : 0;
}

/// Of the main thread: on a processor, or waiting for one.
double runnable_seconds() {
  std::ifstream words("/proc/self/schedstat");
  std::int64_t ran = 0, waited = 0;
  words >> ran >> waited;
  return 1e-9 * static_cast<double>(ran + waited);
}

}  // namespace

bool LifeSigns::any() {
  constexpr double kShare = 0.05;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double now = watchdog_seconds();
  const double least = kShare * (now - std::exchange(looked_, now));
  const double computed = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const double runnable = runnable_seconds();
  const std::int64_t bytes = bytes_of_main_thread();
  const long blocks = usage.ru_inblock + usage.ru_oublock;
  const bool computes = computed - std::exchange(computed_, computed) > least;
  const bool wants = runnable - std::exchange(runnable_, runnable) > least;
  const bool moves = bytes != std::exchange(bytes_, bytes);
  const bool writes = blocks != std::exchange(blocks_, blocks);
  return computes || wants || moves || writes;
}

}  // namespace scalebench
