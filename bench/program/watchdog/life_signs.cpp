// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <sys/resource.h>

#include "bench/program/watchdog/link.hpp"

namespace scalebench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

bool LifeSigns::any() {
  constexpr double kShare = 0.05;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double computed = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const long blocks = usage.ru_inblock + usage.ru_oublock;
  const double now = watchdog_seconds();
  const bool any = computed - computed_ > kShare * (now - looked_) || blocks != blocks_;
  computed_ = computed;
  looked_ = now;
  blocks_ = blocks;
  return any;
}

}  // namespace scalebench
