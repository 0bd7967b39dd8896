// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {

std::span<const AllreduceAlgorithm> allreduce_algorithms() {
  // Not every cost depends on both p and n.
  static constexpr std::array kTable{
#define ALLREDUCE(name, steps, elements, purpose)                                              \
  AllreduceAlgorithm{                                                                          \
      #name, &allreduce::name,                                                                 \
      []([[maybe_unused]] double p, [[maybe_unused]] double n) -> double { return steps; },    \
      []([[maybe_unused]] double p, [[maybe_unused]] double n) -> double { return elements; }, \
      purpose},
#include "collectives/allreduce.def"
#undef ALLREDUCE
  };
  return kTable;
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
