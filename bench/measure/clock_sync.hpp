// SPDX-License-Identifier: Apache-2.0
// One time for all ranks. On one host CLOCK_MONOTONIC already is one. Across hosts one rank of each
// host learns offset and drift to rank 0 from the fastest of many ping-pongs, in log2(hosts)
// rounds: a host that knows the time passes it on to another. Like HCA3 of Hunold and
// Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", IEEE Cluster 2018.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "bench/measure/clock.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

// A line through pairs of clock readings: what another clock shows when this one shows t.

/// One ping-pong: the answer lies somewhere in the round trip, taken as its middle.
struct ClockPoint {
  double local = 0;       // middle of the round trip
  double offset = 0;      // the other clock's answer minus `local`
  double half_round = 0;  // how far off that may be
};

struct ClockModel {
  double anchor = 0;       // local seconds
  double offset = 0;       // at the anchor
  double slope = 0;        // offset per local second: the drift
  double residual = 0;     // seconds that global_of() may be wrong within the fit's horizon
  double at_anchor = 0;    // and at the anchor
  double slope_error = 0;  // how wrong the slope may be

  double global_of(double local) const { return local + offset + slope * (local - anchor); }
};

/// Least squares, weighted by the points' certainty. Points in the order of time, at least one; the
/// slope is 0 when they do not spread. `horizon`: how long after the last point the residual holds.
ClockModel fit_clock(std::span<const ClockPoint> points, double horizon = 1);

/// A clock through a stretch of time that was followed before and after it: the line between the
/// two offsets, each at its fit's middle.
class ClockBridge {
 public:
  /// The same clock for all: of one host.
  ClockBridge() = default;
  ClockBridge(const ClockModel& before, const ClockModel& after);

  double global_of(double local) const { return local + offset_ + slope_ * (local - anchor_); }
  /// By how much this clock goes faster than the other one, on the mean: 1e-6 is a part per
  /// million.
  double drift() const { return -slope_ / (1 + slope_); }
  /// Seconds that global_of() may be wrong in between. Of a clock that stood still meanwhile, as
  /// its machine was suspended, half of what it lacks, as if it had drifted so far.
  double residual_seconds() const { return residual_; }

 private:
  double anchor_ = 0;
  double offset_ = 0;
  double slope_ = 0;
  double residual_ = 0;
};

class GlobalClock {
 public:
  /// Collective over the host communicator, which must outlive the clock; includes the first
  /// synchronise(), which takes `span` seconds for each doubling of hosts: the longer, the better
  /// the drift. `local` is this rank's clock; ranks that share a host share it.
  explicit GlobalClock(Communicator& host, std::function<double()> local = local_seconds,
                       double span = kSpanSeconds);
  static constexpr double kSpanSeconds = 0.4;

  /// Collective: follows the hosts' clocks again, before each cell say. The drift is fitted over
  /// this and earlier calls, so it gets better with each. On one host no message is sent.
  void synchronise();
  /// Collective: the same where the last time is half a second ago or more, by rank 0's clock. True
  /// where it was. Called before each stretch of up to half a second, the residual holds in all of
  /// a long cell. On one host no message is sent.
  bool keep_up();

  /// Seconds of rank 0's clock, as this rank knows them.
  double now() const { return model_.global_of(local_()); }
  /// The same for an instant of this rank's clock.
  double global_of(double local) const { return model_.global_of(local); }
  /// How wrong now() may be on any rank within a second of the last synchronise(), in seconds; the
  /// same on all ranks, and 0 on one host.
  double residual_seconds() const { return residual_; }
  /// Of this rank's clock alone.
  const ClockModel& model() const { return model_; }

 private:
  void follow_other_hosts();
  void learn_from(int reference);

  Communicator& host_;
  std::function<double()> local_;
  const double span_;
  std::vector<int> leaders_;  // the first rank of each host, ascending
  int leader_ = 0;            // of this host
  std::vector<ClockPoint> points_;
  ClockModel model_;
  double residual_ = 0;
  double synchronised_ = 0;  // when, by this rank's clock
};

}  // namespace scalebench
