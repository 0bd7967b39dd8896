// SPDX-License-Identifier: Apache-2.0
// A timeline as the file that chrome://tracing and Perfetto read: one row a lane, one bar an
// activity. Bounded: when it is full it says so and drops what follows.
// Format: "Trace Event Format", complete events (ph = X), times in microseconds.
#pragma once

#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "models/step/step_trace.hpp"

namespace scalebench {

class ChromeTimeline final : public Timeline {
 public:
  static constexpr std::size_t kMostEvents = 100'000;

  /// Replaces the file at once. `clock`: seconds. Throws UsageError when it cannot be written.
  explicit ChromeTimeline(const std::string& path, double (*clock)(),
                          std::size_t most_events = kMostEvents);

  /// Between them everything is recorded; what is not over at the end is left out.
  void start();
  /// Writes the file. Throws Error when that fails.
  void finish();

  void begin(std::string_view lane, std::string_view activity) override;
  void end(std::string_view lane) override;

 private:
  /// An activity that has begun, by its lane's number.
  struct Open {
    std::string activity;
    double begin = 0;
  };
  struct Event {
    std::string activity;
    std::size_t lane;
    double begin;
    double seconds;
  };

  const std::string path_;
  double (*const clock_)();
  const std::size_t most_events_;
  std::ofstream file_;
  std::mutex mutex_;
  bool recording_ = false;
  double start_ = 0;
  std::map<std::string, std::size_t, std::less<>> lanes_;
  std::vector<Open> open_;  // by lane; no activity: none
  std::vector<Event> events_;
  std::size_t dropped_ = 0;
};

}  // namespace scalebench
