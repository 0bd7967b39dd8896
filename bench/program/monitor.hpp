// SPDX-License-Identifier: Apache-2.0
// Looks at the machine twice a second while ranks work on it: one thread a host, beside local rank
// 0 and on its core, asleep in between. What a sample costs is a column of its own: about 0.1 ms on
// a host of two cores, 0.02 % of one of them; more where the kernel has more cores to list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/machine/host_load.hpp"
#include "bench/program/recorder.hpp"
#include "bench/record/result_row.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

class Monitor {
 public:
  /// Collective. Begins at once when `wanted`; rows go to monitor.csv of `recorder`, those of rank
  /// 0's host as they come, those of other hosts in finish(). `launch`: its number in a study.
  Monitor(const Ranks& ranks, bool wanted, int launch, Recorder& recorder);
  /// Stops; rows of other hosts that finish() did not bring home are lost.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Collective: stops and brings the rows of all hosts home. Warns when rows could not be written.
  void finish(Console& console);

 private:
  struct Sampler;
  const Ranks& ranks_;
  bool wanted_;
  std::unique_ptr<Sampler> sampler_;  // on local rank 0
};

// One sample of the monitor as rows of monitor.csv.

/// Two readings of a machine, `seconds` apart: shares and rates between them, amounts as in `now`.
/// `common`: a row of monitor.csv with what all rows have. The first row of the result is the
/// machine's, then one for each card.
std::vector<ResultRow> monitor_rows(const ResultRow& common, const HostLoad& before,
                                    const HostLoad& now, double seconds,
                                    const std::vector<DeviceLoad>& devices);

}  // namespace scalebench
