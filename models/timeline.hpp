// SPDX-License-Identifier: Apache-2.0
// What a tensor or a bucket goes through between its gradient and its mean, told to whoever holds a
// clock; as the timeline of Horovod.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// Called from any thread. A lane is in one activity at a time.
class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual void begin(std::string_view lane, std::string_view activity) = 0;
  virtual void end(std::string_view lane) = 0;
};

/// The numbered lanes of a strategy; silent without a timeline.
class TimelineLanes {
 public:
  /// Lanes are "`kind` 0", "`kind` 1" ...
  TimelineLanes(Timeline* timeline, std::string_view kind, std::size_t count)
      : timeline_(timeline) {
    if (timeline_ == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) names_.push_back(fmt::format("{} {}", kind, i));
  }
  void begin(std::size_t lane, std::string_view activity) const {
    if (timeline_ != nullptr) timeline_->begin(names_[lane], activity);
  }
  void end(std::size_t lane) const {
    if (timeline_ != nullptr) timeline_->end(names_[lane]);
  }
  /// From one activity to the next.
  void change(std::size_t lane, std::string_view activity) const {
    end(lane);
    begin(lane, activity);
  }

 private:
  Timeline* timeline_;
  std::vector<std::string> names_;
};

}  // namespace scalebench
