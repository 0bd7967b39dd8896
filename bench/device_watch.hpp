// SPDX-License-Identifier: Apache-2.0
// Looks at one card's clock, power, temperature and throttling beside what is timed on it: a thread
// that sleeps between looks, asks the driver and nothing of CUDA, and stamps what it got, so that
// the repetitions are joined to it afterwards and never wait for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/device_spell.hpp"

namespace scalebench {

/// When something was timed, by this host's monotonic clock.
struct TimeSpan {
  double begin = 0;
  double end = 0;
};

/// Spans of steps that followed each other without a pause, the last of which ended at `end`.
void append_spans(std::span<const double> seconds, double end, std::vector<TimeSpan>& spans);

class DeviceWatch {
 public:
  /// Begins at once; empty `uuid`, or a machine whose driver does not know it: watches nothing.
  /// `library`: the driver's, or one that takes its place in a test.
  explicit DeviceWatch(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  /// Whether there is something to watch.
  bool sees() const;
  /// What the card did in each of the `spans`, all of which are over; forgets what lies before the
  /// last look, as later spans come later. Empty where nothing is watched.
  std::vector<DeviceSpell> spells(std::span<const TimeSpan> spans);

 private:
  struct Looker;
  std::unique_ptr<Looker> looker_;
};

}  // namespace scalebench
