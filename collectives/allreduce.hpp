// SPDX-License-Identifier: Apache-2.0
// The allreduce algorithms as a table, made from allreduce.def: name, claimed cost, function.
// Adding one is a file in allreduce/ and a line in the .def; a line without its file does not link.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Sums `data` over all ranks, in place: afterwards every rank holds the same elements. Collective;
/// every rank passes the same count and dtype. On a device the work is enqueued.
/// Throws Unavailable where the transport cannot do it.
using Allreduce = void (*)(Communicator& communicator, Span data);

inline constexpr double kNotOurs = std::numeric_limits<double>::quiet_NaN();

struct AllreduceAlgorithm {
  std::string_view name;
  Allreduce run;
  /// Exchanges of the busiest rank for p ranks and n elements; NaN when the library decides.
  double (*steps)(double p, double n);
  /// Elements sent by the busiest rank; NaN when the library decides.
  double (*elements_sent)(double p, double n);
  std::string_view purpose;
};

std::span<const AllreduceAlgorithm> allreduce_algorithms();
/// The algorithm of that name; throws UsageError with the valid names and the nearest one.
const AllreduceAlgorithm& allreduce_named(std::string_view name);

namespace allreduce {
#define ALLREDUCE(name, steps, elements, purpose) void name(Communicator& communicator, Span data);
#include "collectives/allreduce.def"
#undef ALLREDUCE
}  // namespace allreduce

}  // namespace scalebench
