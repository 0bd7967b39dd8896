// SPDX-License-Identifier: Apache-2.0
// The clock of every duration that is measured, and that of what a thread computes.
#pragma once

#include <chrono>
#include <ctime>
#include <utility>

namespace scalebench {

/// Seconds of this host's monotonic clock.
inline double local_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds for which a processor has worked for this thread.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What `read` returns, and the time at which it was read: once more, a few times, where that took
/// `at_once` seconds or longer, as another thread had the core in between.
template <class Read>
auto with_its_time(double at_once, Read&& read) {
  constexpr int kTries = 5;
  for (int i = 1;; ++i) {
    const double begin = local_seconds();
    auto value = read();
    const double end = local_seconds();
    if (end - begin < at_once || i == kTries) return std::pair{std::move(value), end};
  }
}

/// This host's clock, or one that has been made to go wrong on purpose.
class HostClock {
 public:
  double operator()() const {
    const double at = local_seconds();
    return at + drift_ * (at - begin_);
  }
  /// From now on by so much too fast, a millionth is 1e-6.
  void drift(double per_second) {
    begin_ = local_seconds();
    drift_ = per_second;
  }

 private:
  double begin_ = 0;
  double drift_ = 0;
};

}  // namespace scalebench
