// SPDX-License-Identifier: Apache-2.0
// The bandwidths of an allreduce, in 10^9 bytes a second, defined once. `bytes` is one rank's
// buffer. Definitions: NVIDIA nccl-tests, doc/PERFORMANCE.md. busbw does not depend on the
// algorithm.
#pragma once

namespace scalebench {

/// bytes / seconds.
inline double algbw_gb_per_s(double bytes, double seconds) { return bytes / seconds * 1e-9; }

/// algbw * 2(p-1)/p: what each rank's link carries in a bandwidth-optimal algorithm; 0 for p = 1.
inline double busbw_gb_per_s(double bytes, double seconds, int ranks) {
  return algbw_gb_per_s(bytes, seconds) * 2.0 * (ranks - 1) / ranks;
}

/// What the busiest rank really sent, by its algorithm's own line, over seconds.
inline double wire_bw_gb_per_s(double elements_sent, double element_bytes, double seconds) {
  return elements_sent * element_bytes / seconds * 1e-9;
}

}  // namespace scalebench
