// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/span_check.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {

std::span<const AllreduceAlgorithm> allreduce_algorithms() {
  // Not every cost depends on all of p, n and g.
  static constexpr std::array kTable{
#define ALLREDUCE(name, steps, sent, reduced, purpose)                                      \
  AllreduceAlgorithm{                                                                       \
      #name, &allreduce::name,                                                              \
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
  const bool scaled = op == ReduceOp::avg && function != &allreduce::native;
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
