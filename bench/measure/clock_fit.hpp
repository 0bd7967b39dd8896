// SPDX-License-Identifier: Apache-2.0
// A line through pairs of clock readings: what another clock shows when this one shows t.
#pragma once

#include <span>

namespace scalebench {

/// One ping-pong: the answer lies somewhere in the round trip, taken as its middle.
struct ClockPoint {
  double local = 0;       // middle of the round trip
  double offset = 0;      // the other clock's answer minus `local`
  double half_round = 0;  // how far off that may be
};

struct ClockModel {
  double anchor = 0;    // local seconds
  double offset = 0;    // at the anchor
  double slope = 0;     // offset per local second: the drift
  double residual = 0;  // seconds that global_of() may be wrong within a second of the last point

  double global_of(double local) const { return local + offset + slope * (local - anchor); }
  double local_of(double global) const { return (global - offset + slope * anchor) / (1 + slope); }
};

/// Least squares, weighted by the points' certainty. Points in the order of time, at least one; the
/// slope is 0 when they do not spread.
ClockModel fit_clock(std::span<const ClockPoint> points);

}  // namespace scalebench
