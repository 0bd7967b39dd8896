// SPDX-License-Identifier: Apache-2.0
// One time for all ranks. On one host CLOCK_MONOTONIC already is one; across hosts each rank's
// offset to rank 0 is taken from the fastest of many ping-pongs, and half that round trip is the
// residual.
#pragma once

#include "collectives/communicator.hpp"

namespace scalebench {

/// Seconds of this host's monotonic clock.
double local_seconds();

class GlobalClock {
 public:
  /// Collective over the host communicator. On one host no message is sent.
  explicit GlobalClock(Communicator& host);

  /// Seconds of rank 0's clock, as this rank knows them.
  double now() const { return local_seconds() + offset_; }
  /// How wrong now() may be on any rank, in seconds; 0 on one host.
  double residual_seconds() const { return residual_; }

 private:
  double offset_ = 0;
  double residual_ = 0;
};

}  // namespace scalebench
