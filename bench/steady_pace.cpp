// SPDX-License-Identifier: Apache-2.0
#include "bench/steady_pace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace scalebench {

void SteadyPace::last(double seconds, const std::function<void()>& work) {
  const double end = clock_() + seconds - late_;
  work();
  asked_ += seconds;
  const double left = end - clock_();
  if (left > 0) sleep_(left);
  late_ = std::max(0.0, clock_() - end);
}

void SteadyPace::sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string text_of(const SteadyPace& pace) {
  return fmt::format("replayed {:.6f} s, {:.6f} s late", pace.asked_seconds(), pace.late_seconds());
}

}  // namespace scalebench
