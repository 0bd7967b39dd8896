// SPDX-License-Identifier: Apache-2.0
// One case of bench_allreduce as rows of allreduce.csv and samples.csv; and of bound.csv.
#pragma once

#include <string>
#include <vector>

#include "bench/allreduce/bound.hpp"
#include "bench/allreduce/measure.hpp"
#include "bench/program/recorder.hpp"

namespace scalebench {

/// What the rows of one launch share, or of one pair in it.
struct AllreduceRowContext {
  const Recorder& recorder;
  const AllreduceMethod& method;
  Topology topology = {};
  std::vector<std::string> hosts = {};    // by rank
  std::vector<std::string> devices = {};  // by rank; empty texts without one
  std::string part = {};  // added to the case's canonical parameters where not all ranks take part

  int ranks() const { return static_cast<int>(hosts.size()); }
};

/// As the options say it, but for ranks that share a core.
AllreduceMethod method_of(const AllreduceOptions& options, const Recorder& recorder);

bool uses_devices(const std::vector<LaunchTransport>& transports);

/// Collective: each rank's card, where some transport uses it.
std::vector<std::string> devices_of(const Ranks& ranks,
                                    const std::vector<LaunchTransport>& transports,
                                    const RankDevices& devices);

/// What the result says of itself, what was put into it on purpose, whether its pages are not all
/// that was asked for, and whether a link that is emulated was the limit.
std::string note_of(const AllreduceCase& one, const LaunchTransport& transport,
                    const AllreduceResult& result, const AllreduceRowContext& context);

ResultRow row_of(const AllreduceRowContext& context, const AllreduceCase& one,
                 const LaunchTransport& transport, const AllreduceResult& result);

/// What the rows of samples.csv of one case have in common; made once, since the case's id is a
/// hash.
ResultRow sample_head(const AllreduceRowContext& context, const AllreduceCase& one,
                      const LaunchTransport& transport);

/// Repetition `index` of that case.
ResultRow sample_of(ResultRow head, const AllreduceResult& result, std::size_t index);

/// A point of the bound as a row of bound.csv.
ResultRow bound_row_of(const AllreduceRowContext& context, const LaunchTransport& transport,
                       std::size_t bytes, const BoundPoint& point);

}  // namespace scalebench
