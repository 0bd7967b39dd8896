// SPDX-License-Identifier: Apache-2.0
// The allreduce algorithms as a table, made from allreduce.def: name, claimed cost, function.
// Adding one is a file in allreduce/ and a line in the .def; a line without its file does not link.
#pragma once

#include <limits>
#include <span>
#include <string_view>

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

struct AllreduceAlgorithm {
  std::string_view name;
  AllreduceFunction function;
  /// For p ranks of which g share a node, and n elements.
  AllreduceCost (*cost)(double p, double n, double g);
  std::string_view purpose;

  /// Runs `function`, any op: an average is a sum and a scale. Throws Error for spans that differ.
  void run(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) const;
};

std::span<const AllreduceAlgorithm> allreduce_algorithms();
/// The algorithm of that name; throws UsageError with the valid names and the nearest one.
const AllreduceAlgorithm& allreduce_named(std::string_view name);

namespace allreduce {
#define ALLREDUCE(name, steps, sent, reduced, purpose) \
  void name(Communicator& communicator, ConstSpan in, Span out, ReduceOp op);
#include "collectives/allreduce.def"
#undef ALLREDUCE
}  // namespace allreduce

}  // namespace scalebench
