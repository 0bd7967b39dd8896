// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/facts.hpp"

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr const char* kAbsent = "absent";

const nlohmann::json* find(const Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  return found == facts.end() ? nullptr : &found->second.value;
}

}  // namespace

nlohmann::json json_of(const Facts& facts) {
  nlohmann::json json = nlohmann::json::object();
  json[kAbsent] = nlohmann::json::object();
  for (const auto& [name, fact] : facts) {
    json[name] = fact.value;
    if (fact.value.is_null()) json[kAbsent][name] = fact.absent_because;
  }
  return json;
}

Facts facts_of(const nlohmann::json& json) {
  if (!json.is_object()) fail<UsageError>("a set of facts is not a JSON object");
  const nlohmann::json absent = json.value(kAbsent, nlohmann::json::object());
  Facts facts;
  for (const auto& [name, value] : json.items()) {
    if (name == kAbsent) continue;
    facts[name] = value.is_null() ? Fact::absent(absent.value(name, "")) : Fact::of(value);
  }
  return facts;
}

std::optional<double> number_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = find(facts, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::optional<std::string> text_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = find(facts, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<bool> flag_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = find(facts, name);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

}  // namespace scalebench
