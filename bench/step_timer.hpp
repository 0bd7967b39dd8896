// SPDX-License-Identifier: Apache-2.0
// How long each of many steps in a row takes, without stopping a device between them: on a CPU by
// the clock, on a GPU by an event behind each step. The host runs a few steps ahead of the device,
// as in training.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "kernels/device.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

class StepTimer {
 public:
  explicit StepTimer(ComputeDevice device) : on_device_(device == ComputeDevice::cuda) {}

  /// Before the first step of a round, on the thread that makes the steps.
  void begin();
  /// Behind each step, which need not have ended on the device.
  void step_enqueued();
  /// Waits for the last step and appends the seconds of each since begin().
  void end(std::vector<double>& seconds);

 private:
  void mark();

  bool on_device_;
  std::vector<double> stamps_;      // CPU
  std::deque<DeviceEvent> events_;  // GPU; kept for the next round
  std::size_t marks_ = 0;           // events of this round
};

}  // namespace scalebench
