// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/difference_table.hpp"

#include <fmt/format.h>

#include "bench/cli/printable.hpp"

namespace scalebench {
namespace {

std::string_view meaning_of(std::string_view set) {
  if (set == "key") return "key: what must be equal for a difference in time to be the software's";
  if (set == "treatment") return "treatment: what may have caused one";
  if (set == "observation") return "observation: noted only";
  if (set == "binaries") return "binaries: SHA-256 of the programs";
  if (set == "launchers") return "launchers: how launches were started";
  return set;
}

}  // namespace

std::string difference_table(const std::vector<FieldDifference>& fields) {
  std::string table;
  std::string_view set;
  for (const FieldDifference& field : fields) {
    if (field.set != set) table += fmt::format("{}\n", meaning_of(set = field.set));
    table += field.equal()
                 ? fmt::format("  {}: {} (both)\n", printable(field.field), printable(field.a))
                 : fmt::format("  {}: {} -> {}\n", printable(field.field), printable(field.a),
                               printable(field.b));
  }
  return table;
}

nlohmann::json json_of(const std::vector<FieldDifference>& fields) {
  nlohmann::json list = nlohmann::json::array();
  for (const FieldDifference& field : fields) {
    list.push_back({{"set", field.set}, {"field", field.field}, {"a", field.a}, {"b", field.b}});
  }
  return list;
}

}  // namespace scalebench
