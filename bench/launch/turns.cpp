// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/turns.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <string>

namespace scalebench {

Turns::Turns(int ranks) : ranks_(ranks) {}

Variables Turns::variables(std::size_t launch) const {
  const auto file = [](int number) { return fmt::format("/proc/{}/fd/{}", ::getpid(), number); };
  return {
      {kTurnsVariable, fmt::format("{} {} {}", file(turns_.at(launch).reading()),
                                   file(turns_.at(1 - launch).writing()), file(ready_.writing()))}};
}

void Turns::until_ready(const std::atomic<bool>& stop) {
  constexpr int kLookMilliseconds = 50;  // at `stop`, which a signal sets
  pollfd word{ready_.reading(), POLLIN, 0};
  while (!stop && ::poll(&word, 1, kLookMilliseconds) <= 0) {
  }
  char ready = 0;
  if (word.revents != 0) static_cast<void>(!::read(ready_.reading(), &ready, 1));
}

void Turns::begin() {
  const std::scoped_lock lock(closing_);
  const std::string one_each(static_cast<std::size_t>(ranks_), '.');
  const int first = turns_[0].writing();
  if (first >= 0) static_cast<void>(!::write(first, one_each.data(), one_each.size()));
}

void Turns::ended(std::size_t launch) {
  const std::scoped_lock lock(closing_);
  static_cast<void>(!::write(ready_.writing(), ".", 1));
  turns_.at(1 - launch).close_writing();
}

}  // namespace scalebench
