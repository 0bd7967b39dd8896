// SPDX-License-Identifier: Apache-2.0
// The pace of a replay by this host's clock: sleeps, so that many ranks share few cores, until the
// instant at which the recorded work would have ended. Sleeping ends late, by some 60 us, and so
// does work on a crowded core: what was late is taken off the sleeps that follow, as long as there
// are any.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "bench/measure/clock_sync.hpp"
#include "models/pace.hpp"

namespace scalebench {

class SteadyPace final : public Pace {
 public:
  /// The clock's seconds, and how to sleep for some.
  explicit SteadyPace(std::function<double()> clock = local_seconds,
                      std::function<void(double)> sleep = sleep_for)
      : clock_(std::move(clock)), sleep_(std::move(sleep)) {}

  void last(double seconds, const std::function<void()>& work) override;

  /// What was asked for in all, and how much of it this rank is behind by now.
  double asked_seconds() const { return asked_; }
  double late_seconds() const { return late_; }

 private:
  static void sleep_for(double seconds);

  std::function<double()> clock_;
  std::function<void(double)> sleep_;
  double asked_ = 0;
  double late_ = 0;
};

/// "replayed 12.345678 s, 0.000 s late" for the row's note.
std::string text_of(const SteadyPace& pace);

}  // namespace scalebench
