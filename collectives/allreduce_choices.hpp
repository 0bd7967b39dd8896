// SPDX-License-Identifier: Apache-2.0
// The measured table behind the algorithm `auto`: which algorithm was fastest at which size, for
// one transport, rank count, dtype and op. Immutable; all ranks must hold the same.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "collectives/allreduce.hpp"

namespace scalebench {

/// One measured cell. Of several with the same algorithm and size the median counts.
struct MeasuredAllreduce {
  std::string algorithm;
  std::size_t bytes = 0;  // of one rank's buffer
  double seconds = 0;
};

class AllreduceChoices {
 public:
  /// Cells of `auto` itself are left out. Throws UsageError for an unknown algorithm or a time that
  /// is none, Unavailable when no cell is left.
  explicit AllreduceChoices(std::span<const MeasuredAllreduce> measured);

  /// The fastest at the measured size that is nearest in log scale. Times within 3 % of the fastest
  /// are ties, in which neighbouring sizes keep one algorithm for as long as they can.
  const AllreduceAlgorithm& pick(std::size_t bytes) const;

  /// "up to 5.7 KiB: one_shot", "up to 11 MiB: direct", "above: ring".
  std::vector<std::string> describe() const;

 private:
  struct Choice {
    std::size_t largest;  // bytes for which it holds
    const AllreduceAlgorithm* algorithm;
  };
  std::vector<Choice> choices_;  // by size
};

}  // namespace scalebench
