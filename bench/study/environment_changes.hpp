// SPDX-License-Identifier: Apache-2.0
// What is otherwise than in an earlier run: the treatment (suspects), what is only observed, and
// the lines of the configuration.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/record/facts.hpp"

namespace scalebench {

struct FactChange {
  std::string field;
  nlohmann::json before;  // null: not known
  nlohmann::json after;
};

/// Fields with different values, in alphabetical order.
std::vector<FactChange> changes_of(const Facts& before, const Facts& after);

/// Lines that are only in one of two texts, as "- old" and "+ new", in order. Of texts with over
/// 2000 lines only whether they differ.
std::vector<std::string> line_changes(const std::string& before, const std::string& after);

}  // namespace scalebench
