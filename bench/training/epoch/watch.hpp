// SPDX-License-Identifier: Apache-2.0
// Who follows a training step by step: the watchdog, and a timeline.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/watchdog/progress.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench {

// Tells the watchdog of the steps of an epoch, each of which ends the one before. How long one may
// take is known from the warm-up; without one nobody knows, and the first is work of its own.

class StepMarks {
 public:
  /// `step_seconds`: what a step takes, at most and on any rank; 0: unknown.
  StepMarks(ProgressMarks& progress, double step_seconds)
      : progress_(progress), step_seconds_(step_seconds) {}

  /// An epoch of that name.
  void begin(const std::string& name);
  void step();
  void end();

 private:
  void leave();

  ProgressMarks& progress_;
  double step_seconds_;
  std::string epoch_;
  double began_ = 0;  // the step that nobody knows
  bool inside_ = false;
};

// A timeline as the file that chrome://tracing and Perfetto read: one row a gradient, one bar an
// activity. Bounded: when it is full it says so and drops what follows.
// Format: "Trace Event Format", begins and ends (ph = B, E), times in microseconds.

class ChromeTimeline final : public Timeline {
 public:
  static constexpr std::size_t kMostEvents = 100'000;

  /// Replaces the file at once. `clock`: seconds. Throws UsageError when it cannot be written.
  explicit ChromeTimeline(const std::string& path, double (*clock)(),
                          std::size_t most_events = kMostEvents);

  /// Between them everything is recorded.
  void start();
  /// Writes the file. Throws Error when that fails.
  void finish();

  void begin(std::size_t lane, std::string_view activity) override {
    append({lane, "B", std::string(activity), clock_()});
  }
  void end(std::size_t lane) override { append({lane, "E", "", clock_()}); }

 private:
  struct Event {
    std::size_t lane;
    const char* kind;      // as the format has it
    std::string activity;  // that begins
    double at;
  };
  void append(Event event);

  const std::string path_;
  double (*const clock_)();
  const std::size_t most_events_;
  std::ofstream file_;
  std::mutex mutex_;
  bool recording_ = false;
  double start_ = 0;
  std::vector<Event> events_;
  std::size_t dropped_ = 0;
};

}  // namespace scalebench
