// SPDX-License-Identifier: Apache-2.0
// The allreduce algorithms as a table, made from allreduce.def: name, claimed cost, function.
// Adding one is a file in allreduce/ and a line in the .def; a line without its file does not link.
// Nothing here depends on the .def, so that a new line compiles allreduce.cpp again and no
// includer.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Reduces `in` over all ranks into `out`, which holds the same elements on every rank afterwards.
/// Collective; every rank passes the same count, dtype and op, and either in == out (in place) or
/// spans that are apart. `op` is never avg, but for `native` and `auto`. On a device the work is
/// enqueued. Throws Unavailable, on every rank and before any message, where the transport cannot
/// do it.
using AllreduceFunction = void (*)(Communicator& communicator, ConstSpan in, Span out, ReduceOp op);

inline constexpr double kNotOurs = std::numeric_limits<double>::quiet_NaN();

/// What the busiest rank does; NaN when the library decides.
struct AllreduceCost {
  double steps = kNotOurs;    // exchanges and barriers
  double sent = kNotOurs;     // elements
  double reduced = kNotOurs;  // elements
};

/// How the ranks of one node reach each other: by messages alone, in each other's windows, or in a
/// device's order.
enum class Reach : std::uint8_t { messages, windows, device };
Reach reach_of(std::string_view transport, bool on_device);

struct AllreduceAlgorithm {
  std::string_view name;
  AllreduceFunction function;
  /// For p ranks of which g share each node, and n elements.
  AllreduceCost (*cost)(double p, double n, double g, Reach reach);
  std::string_view purpose;

  /// Whether this is `auto`, which runs another one of the table.
  bool chooses() const;
  /// Runs `function`, any op: an average is a sum and a scale. Throws Error for spans that differ.
  void run(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) const;
  /// The same within a run() that has looked at the spans.
  void run_alike(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) const;
};

std::span<const AllreduceAlgorithm> allreduce_algorithms();
/// The algorithm of that name; throws UsageError with the valid names and the nearest one.
const AllreduceAlgorithm& allreduce_named(std::string_view name);

// The measured table behind the algorithm `auto`: which algorithm was fastest at which size, for
// one transport, rank count, dtype and op. Immutable; all ranks must hold the same.

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

  /// The fastest at the measured size that is nearest in log scale; that of the next smaller size
  /// where it takes at most 3 % longer.
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
