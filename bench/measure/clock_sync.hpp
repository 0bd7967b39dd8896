// SPDX-License-Identifier: Apache-2.0
// One time for all ranks. On one host CLOCK_MONOTONIC already is one. Across hosts one rank of each
// host learns offset and drift to rank 0 from the fastest of many ping-pongs, in log2(hosts)
// rounds: a host that knows the time passes it on to another. Like HCA3 of Hunold and
// Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", IEEE Cluster 2018.
#pragma once

#include <functional>
#include <vector>

#include "bench/measure/clock_fit.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// Seconds of this host's monotonic clock.
double local_seconds();

class GlobalClock {
 public:
  /// Collective over the host communicator, which must outlive the clock; includes the first
  /// synchronise(). `local` is this rank's clock; ranks that share a host share it.
  explicit GlobalClock(Communicator& host, std::function<double()> local = local_seconds);

  /// Collective: follows the hosts' clocks again, before each cell say. The drift is fitted over
  /// this and earlier calls, so it gets better with each. On one host no message is sent.
  void synchronise();

  /// Seconds of rank 0's clock, as this rank knows them.
  double now() const { return model_.global_of(local_()); }
  /// The same for an instant of this rank's clock.
  double global_of(double local) const { return model_.global_of(local); }
  /// And back.
  double local_of(double global) const { return model_.local_of(global); }
  /// How wrong now() may be on any rank within a second of the last synchronise(), in seconds; the
  /// same on all ranks, and 0 on one host.
  double residual_seconds() const { return residual_; }

 private:
  void follow_other_hosts();
  void learn_from(int reference);

  Communicator& host_;
  std::function<double()> local_;
  std::vector<int> leaders_;  // the first rank of each host, ascending
  int leader_ = 0;            // of this host
  std::vector<ClockPoint> points_;
  ClockModel model_;
  double residual_ = 0;
};

}  // namespace scalebench
