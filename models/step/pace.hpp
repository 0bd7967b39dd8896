// SPDX-License-Identifier: Apache-2.0
// Lets work last as long as was recorded, for whoever replays a step; kept by whoever has a clock.
#pragma once

#include <functional>

namespace scalebench {

class Pace {
 public:
  virtual ~Pace() = default;

  /// Does `work`, and returns when `seconds` have passed since the call; at once when the work has
  /// taken longer. One thread at a time.
  virtual void last(double seconds, const std::function<void()>& work) = 0;
};

/// How long an update of each element lasts; with no pace, as long as it takes.
struct UpdatePace {
  Pace* pace = nullptr;
  double seconds_per_element = 0;
};

}  // namespace scalebench
