// SPDX-License-Identifier: Apache-2.0
// Named findings about a machine. One that could not be found out is null and says why; it is never
// 0 or "". In JSON: {"turbo": null, "cores": 8, "absent": {"turbo": "no cpufreq here"}}.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace scalebench {

struct Fact {
  nlohmann::json value;
  std::string absent_because;  // when value is null

  static Fact of(nlohmann::json found) { return {std::move(found), ""}; }
  static Fact absent(std::string reason) { return {nullptr, std::move(reason)}; }
  /// What `found` holds, else absent with this reason.
  template <class T>
  static Fact of(std::optional<T> found, std::string reason) {
    return found ? of(*found) : absent(std::move(reason));
  }
};

using Facts = std::map<std::string, Fact, std::less<>>;

nlohmann::json json_of(const Facts& facts);
/// Throws UsageError or nlohmann::json::exception when `json` is not what json_of makes.
Facts facts_of(const nlohmann::json& json);

/// The value, when the fact is there and is of that kind.
std::optional<double> number_of(const Facts& facts, std::string_view name);
std::optional<std::string> text_of(const Facts& facts, std::string_view name);
std::optional<bool> flag_of(const Facts& facts, std::string_view name);

}  // namespace scalebench
