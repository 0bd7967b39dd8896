// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "collectives/allreduce_cost.hpp"
#include "kernels/error.hpp"
#include "kernels/profiler_range.hpp"
#include "kernels/span_check.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

/// `auto` is a keyword, so that the function of that algorithm has a longer name.
constexpr std::string_view label(std::string_view function) {
  return function == "automatic" ? "auto" : function;
}

}  // namespace

std::span<const AllreduceAlgorithm> allreduce_algorithms() {
  using cost::folded, cost::halved, cost::lg, cost::segments, cost::trees;
  // Not every cost depends on all of p, n and g.
  static constexpr std::array kTable{
#define ALLREDUCE(name, steps, sent, reduced, purpose)                                      \
  AllreduceAlgorithm{                                                                       \
      label(#name), &allreduce::name,                                                       \
      []([[maybe_unused]] double p, [[maybe_unused]] double n, [[maybe_unused]] double g) { \
        return AllreduceCost{steps, sent, reduced};                                         \
      },                                                                                    \
      purpose},
#include "collectives/allreduce.def"
#undef ALLREDUCE
  };
  return kTable;
}

void AllreduceAlgorithm::run(Communicator& communicator, ConstSpan in, Span out,
                             ReduceOp op) const {
  require_alike("allreduce", in, out);
  const ProfilerRange range(name.data());  // a literal of the table
  const bool knows_avg = function == &allreduce::native || function == &allreduce::automatic;
  const bool scaled = op == ReduceOp::avg && !knows_avg;
  function(communicator, in, out, scaled ? ReduceOp::sum : op);
  if (scaled) communicator.scale(out, 1.0 / communicator.size());
}

const AllreduceAlgorithm& allreduce_named(std::string_view name) {
  const auto table = allreduce_algorithms();
  const auto found = std::ranges::find(table, name, &AllreduceAlgorithm::name);
  if (found != table.end()) return *found;
  std::vector<std::string_view> names;
  for (const AllreduceAlgorithm& algorithm : table) names.push_back(algorithm.name);
  throw UsageError(unknown_name("algorithm", name, names));
}

}  // namespace scalebench
