// SPDX-License-Identifier: Apache-2.0
// What memory alone would let an allreduce be: its buffers must at least be read once and written
// once, 2 * bytes on every rank. All ranks together stream over the same footprint in the memory of
// one transport, by scaling, copying or combining, whichever is fastest. Host memory only.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "bench/allreduce/measure.hpp"

namespace scalebench {

/// The fastest kernel on a footprint of some bytes on each rank.
struct BoundPoint {
  std::string_view kernel;
  double bytes_per_second = 0;  // of all ranks together, when last measured
  double measured_at = 0;       // local_seconds() of rank 0
  double cost_seconds = 0;      // of measuring it
};

class AllreduceBound {
 public:
  /// `budget_seconds`: for the first measurement of all sizes; those after it do without.
  AllreduceBound(Communicator& host, const AllreduceBuffers& buffers, double budget_seconds)
      : host_(host), buffers_(buffers), budget_seconds_(budget_seconds) {}

  /// Collective, just before a case of that size, and `buffers` hold zeros: what memory gives
  /// changes from minute to minute where a machine is shared. At the power of two below `bytes`,
  /// from 64 KiB on; cheap when that was done a moment ago.
  void measure(std::size_t bytes);

  /// 2 * bytes * ranks at the last rate of the largest point not above `bytes`; NaN below all.
  double seconds(std::size_t bytes) const;

 private:
  Communicator& host_;
  const AllreduceBuffers& buffers_;
  double budget_seconds_;
  std::map<std::size_t, BoundPoint> points_;  // by footprint, at powers of two
};

}  // namespace scalebench
